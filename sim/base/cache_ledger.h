// What a prefix cache did in a run: kept by kv, reported by metrics' readers. Tokens and blocks found are those of
// admissions that were granted. A block found counts for the one who used it last before:
//   other_request   a request of no session, or of another one
//   own_session     an earlier request of the same session
//   own_preemption  the request itself, before it was preempted
//   host_tier       whoever: it had been evicted to a tier below the GPU and came back
// Law: the hit tokens of all causes add up to what the schedulers were told was found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace blockyard {

enum class HitCause : std::size_t { other_request, own_session, own_preemption, host_tier };
inline constexpr std::size_t kHitCauses = 4;
inline constexpr std::array<const char*, kHitCauses> kHitCauseNames{"other_request", "own_session", "own_preemption",
                                                                    "host_tier"};

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
};

}  // namespace blockyard
