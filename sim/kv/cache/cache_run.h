// A prefix cache alone, without time for computing: a reference string against one policy at one capacity. For each
// request:
//   1. its hits are the leading ids of those looked up that are there
//   2. the ids that it keeps (at most as many as fit, from the beginning) are asked for, deepest first: those there are
//      hits to the policy, hit or stranded; then each missing one enters, deepest first, and evicts one where the cache
//      is full
//   3. it lets go of them, deepest first
// Evicted are never the request's own blocks; only with opt, and then they enter first, and the cache is cut down to
// its capacity when the request has let go. With lru both ways are the same. Requests before the first that asks
// (ReferenceString::add_before) fill the cache, and count nothing. Cost: O(1) a block with an O(1) policy, no
// virtual call; 4 bytes a content beside the policy's own.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "sim/base/check.h"
#include "sim/kv/cache/reference_string.h"
#include "sim/kv/eviction/eviction.h"
#include "sim/kv/eviction/policy.h"

namespace blockyard::kv {

struct CacheRunOptions {
  PolicyOptions policy;           // capacity and slots are set by the run
  std::int64_t capacity = 0;      // blocks
  std::size_t waiting = 16;       // requests to come that count as waiting, to a policy that asks
  std::vector<double> cost = {};  // by depth, of computing a block again; beyond its end the last one, 1 if it is empty
  // What a policy that is known at run time alone is made by (eviction/keeping.h).
  std::function<std::unique_ptr<Eviction>(const PolicyOptions&)> make = {};
};

struct CacheCounts {
  std::int64_t hit_blocks = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t hit_requests = 0;  // with at least one block found
  double hit_cost = 0;            // sum of the costs of the blocks found
  std::int64_t evictions = 0;
  // Blocks cached though a block before them is not, so that no lookup reaches them: the mean of what 16 looks, evenly
  // spaced over the requests, saw.
  double stranded_blocks = 0;
  double cached_blocks = 0;  // likewise
};

template <class Policy>
class CacheRun {
 public:
  CacheRun(const ReferenceString& references, const CacheRunOptions& options)
      : references_(references),
        options_(options),
        capacity_(options.capacity),
        slot_of_(references.contents(), kNoBlock),
        policy_(make_policy()) {
    content_of_.resize(static_cast<std::size_t>(slots_));
    for (std::int64_t slot = slots_; slot-- > 0;) unused_.push_back(static_cast<BlockId>(slot));
    if constexpr (Policy::kNeedsFuture) next_uses_ = references.next_uses();
  }

  CacheCounts run() {
    const auto& requests = references_.requests();
    if (capacity_ == 0) return counts_;
    for (std::size_t r = 0; r < std::min(options_.waiting, requests.size()); ++r) tell_waiting(requests[r], true);
    const std::size_t before = references_.before();
    const std::size_t look_every = std::max<std::size_t>(1, (requests.size() - before) / kLooks);
    for (std::size_t r = 0; r < requests.size(); ++r) {
      if (r + options_.waiting < requests.size()) tell_waiting(requests[r + options_.waiting], true);
      tell_waiting(requests[r], false);
      serve(requests[r]);
      if (r < before) {
        counts_ = {};
      } else if ((r - before + 1) % look_every == 0 && looks_ < kLooks) {
        look();
      }
    }
    counts_.stranded_blocks /= static_cast<double>(std::max<std::size_t>(1, looks_));
    counts_.cached_blocks /= static_cast<double>(std::max<std::size_t>(1, looks_));
    return counts_;
  }

 private:
  static constexpr std::size_t kLooks = 16;

  Policy make_policy() {
    const PolicyOptions options = policy_options();
    if constexpr (std::is_constructible_v<Policy, const PolicyOptions&, const CacheRunOptions&>) {
      return Policy(options, options_);
    } else {
      return Policy(options);
    }
  }
  PolicyOptions policy_options() {
    // A request that is let in before others are evicted needs slots beyond the capacity.
    std::int64_t longest = 0;
    if (Policy::kNeedsFuture) {
      for (const auto& r : references_.requests()) longest = std::max<std::int64_t>(longest, r.kept);
    }
    capacity_ = std::min<std::int64_t>(options_.capacity, references_.contents());
    slots_ = std::min<std::int64_t>(capacity_ + longest, references_.contents());
    PolicyOptions options = options_.policy;
    options.capacity = capacity_;
    options.slots = slots_;
    return options;
  }

  [[nodiscard]] double cost_at(std::uint32_t depth) const {
    if (options_.cost.empty()) return 1;
    return options_.cost[std::min<std::size_t>(depth, options_.cost.size() - 1)];
  }

  void serve(const ReferenceString::Request& request) {
    const auto ids = references_.ids(request);
    if constexpr (requires { policy_.expire(SimTime()); }) {
      for (BlockId slot = policy_.expire(request.arrival); slot != kNoBlock; slot = policy_.expire(request.arrival)) {
        drop(slot);
      }
    }
    std::uint32_t hits = 0;
    while (hits < request.looked_up && slot_of_[ids[hits]] != kNoBlock) ++hits;
    counts_.hit_blocks += hits;
    counts_.hit_tokens += references_.tokens(request, hits);
    counts_.hit_requests += hits > 0 ? 1 : 0;
    for (std::uint32_t i = 0; i < hits; ++i) counts_.hit_cost += cost_at(i);

    const auto kept = Policy::kNeedsFuture
                          ? request.kept
                          : static_cast<std::uint32_t>(std::min<std::int64_t>(request.kept, options_.capacity));
    const auto deepest_first = [&](auto&& act) {
      for (std::uint32_t i = kept; i-- > 0;) {
        if (request.repeats && std::ranges::find(ids.first(i), ids[i]) != ids.begin() + i) continue;
        act(i);
      }
    };
    deepest_first([&](std::uint32_t i) {
      const BlockId slot = slot_of_[ids[i]];
      if (slot == kNoBlock) return;
      policy_.hit(slot, reference(request, i));
      policy_.hold(slot);
    });
    deepest_first([&](std::uint32_t i) {
      if (slot_of_[ids[i]] == kNoBlock) enter(ids[i], reference(request, i));
    });
    deepest_first([&](std::uint32_t i) { policy_.let_go(slot_of_[ids[i]]); });
    while (cached_ > capacity_) drop(evicted());
  }

  void enter(std::uint32_t content, const Reference& r) {
    policy_.missed(r);
    if (unused_.empty()) drop(evicted());
    const BlockId slot = unused_.back();
    unused_.pop_back();
    ++cached_;
    slot_of_[content] = slot;
    content_of_[slot] = content;
    policy_.insert(slot, r);
  }
  [[nodiscard]] Reference reference(const ReferenceString::Request& request, std::uint32_t i) const {
    const std::span ids = references_.ids(request);
    Reference r;
    r.key = ids[i];
    r.parent = i == 0 ? kNoKey : ids[i - 1];
    r.depth = i;
    r.category = request.category;
    r.tenant = request.tenant;
    r.now = request.arrival;
    r.cost = cost_at(i);
    if constexpr (Policy::kNeedsFuture) r.next_use = next_uses_[request.first + i];
    return r;
  }
  BlockId evicted() {
    const BlockId slot = policy_.evict();
    CHECK_LAW(slot != kNoBlock, "{} blocks are cached, and none can be evicted", cached_);
    return slot;
  }
  void drop(BlockId slot) {
    slot_of_[content_of_[slot]] = kNoBlock;
    unused_.push_back(slot);
    --cached_;
    ++counts_.evictions;
  }
  void tell_waiting(const ReferenceString::Request& request, bool waits) {
    if constexpr (requires { policy_.want(std::uint64_t{}); }) {
      for (const std::uint32_t id : references_.ids(request).first(request.ids)) {
        if (waits) {
          policy_.want(id);
        } else {
          policy_.unwant(id);
        }
      }
    }
  }

  // A content is reachable if it is cached and so are all before it. They have smaller numbers.
  void look() {
    ++looks_;
    counts_.cached_blocks += static_cast<double>(cached_);
    if (!references_.has_chains()) return;
    reachable_.assign(references_.contents(), false);
    std::int64_t reachable = 0;
    for (std::uint32_t c = 0; c < references_.contents(); ++c) {
      const std::uint32_t parent = references_.parent(c);
      reachable_[c] = slot_of_[c] != kNoBlock && (parent == ReferenceString::kNoParent || reachable_[parent]);
      reachable += reachable_[c] ? 1 : 0;
    }
    counts_.stranded_blocks += static_cast<double>(cached_ - reachable);
  }

  const ReferenceString& references_;
  const CacheRunOptions& options_;
  std::int64_t capacity_;
  std::int64_t slots_ = 0;
  std::vector<BlockId> slot_of_;  // by content
  Policy policy_;
  std::vector<std::uint32_t> content_of_;  // by slot
  std::vector<BlockId> unused_;
  std::vector<std::int64_t> next_uses_;
  std::vector<bool> reachable_;
  std::int64_t cached_ = 0;
  std::size_t looks_ = 0;
  CacheCounts counts_;
};

template <class Policy>
[[nodiscard]] CacheCounts run_cache(const ReferenceString& references, const CacheRunOptions& options) {
  return CacheRun<Policy>(references, options).run();
}

}  // namespace blockyard::kv
