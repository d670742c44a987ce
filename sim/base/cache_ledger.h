// What a prefix cache did in a run: kept by kv, reported by metrics' readers. Tokens and blocks found are those of
// admissions that were granted. A block found counts for the one who used it last before:
//   other_request   a request of no session, or of another one
//   own_session     an earlier request of the same session
//   own_preemption  the request itself, before it was preempted
//   host_tier       whoever: it was not on the GPU any more and came back from a tier below it
// Law: the hit tokens of all causes add up to what the schedulers were told was found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/quantities.h"

namespace blockyard {

enum class HitCause : std::size_t { other_request, own_session, own_preemption, host_tier };
inline constexpr std::size_t kHitCauses = 4;
inline constexpr std::array<const char*, kHitCauses> kHitCauseNames{"other_request", "own_session", "own_preemption",
                                                                    "host_tier"};

// A tier below the GPU. Read: towards the GPU, by fetches and prefetches, and by what falls from it to the next;
// written: from the GPU or the tier above.
struct TierLedger {
  const char* name = "";
  std::int64_t capacity_blocks = 0;
  std::int64_t used_blocks = 0;  // at the end
  std::int64_t hit_tokens = 0;   // of admissions, fetched from here
  std::int64_t read_blocks = 0;
  std::int64_t prefetched_blocks = 0;  // of those read
  std::int64_t written_blocks = 0;
  std::int64_t evicted_blocks = 0;

  // Of another replica.
  TierLedger& operator+=(const TierLedger& other) {
    capacity_blocks += other.capacity_blocks;
    used_blocks += other.used_blocks;
    hit_tokens += other.hit_tokens;
    read_blocks += other.read_blocks;
    prefetched_blocks += other.prefetched_blocks;
    written_blocks += other.written_blocks;
    evicted_blocks += other.evicted_blocks;
    return *this;
  }
  [[nodiscard]] double hit_share(std::int64_t looked_up_tokens) const {
    return static_cast<double>(hit_tokens) / static_cast<double>(looked_up_tokens);
  }
};

struct CacheLedger {
  std::array<std::int64_t, kHitCauses> hit_tokens{};
  std::int64_t requests = 0;      // first admissions
  std::int64_t requests_hit = 0;  // of these, with at least one block found
  double hit_tokens_squared = 0;  // sum over admissions of (tokens found)^2: what attention over them would have been
  std::int64_t evicted_blocks = 0;
  // Blocks with a content, and of these such that no lookup reaches, as one before them in their chain is gone: sums
  // over `looks`, taken each time that as many blocks as the pool has were evicted, and at the end.
  std::int64_t looks = 0;
  std::int64_t known_blocks = 0;
  std::int64_t stranded_blocks = 0;
  std::vector<TierLedger> tiers = {};  // from the GPU downwards
  // Tokens of admissions that a tier had, and that were computed again, since that took less time.
  std::int64_t computed_instead_tokens = 0;
  SimTime waited_for_writes = {};  // steps waited so long for blocks on their way to a tier

  // Of another replica, with tiers of the same names.
  CacheLedger& operator+=(const CacheLedger& other) {
    for (std::size_t i = 0; i < kHitCauses; ++i) hit_tokens[i] += other.hit_tokens[i];
    requests += other.requests;
    requests_hit += other.requests_hit;
    hit_tokens_squared += other.hit_tokens_squared;
    evicted_blocks += other.evicted_blocks;
    looks += other.looks;
    known_blocks += other.known_blocks;
    stranded_blocks += other.stranded_blocks;
    for (std::size_t i = 0; i < tiers.size(); ++i) tiers[i] += other.tiers[i];
    computed_instead_tokens += other.computed_instead_tokens;
    waited_for_writes += other.waited_for_writes;
    return *this;
  }
};

}  // namespace blockyard
