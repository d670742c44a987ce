// The contract of an eviction policy: which cached block loses its content when room is needed.
//
// A policy is a plain final class without virtual functions, in a file of its own; table.h wraps it for the serving
// loop (virtual calls on spans of blocks) and for the cache alone (none at all). It names blocks by slots, small
// numbers that are reused, and what is gone by keys, which name a content for good. What happens to a block, in this
// order:
//   missed(r)        its content was asked for and is not there; an insert follows, with at most one evict between
//   insert(slot, r)  it enters, held
//   hit(slot, r)     its content was asked for and is there
//   hold(slot)       it gets an owner; held blocks may not be evicted
//   let_go(slot)     it has no owner any more: of one request, the deepest block first
//   evict()          the policy gives up a block that nobody holds; kNoBlock only if there is none
// insert, hit, hold and let_go come for each block of a request, the deepest first, so that the blocks nearest to the
// beginning are the youngest.
//
// A policy that keeps a queue may leave held blocks in it. One that evict meets then leaves the queue and enters it
// again at its young end when it is let go: it was in use when its turn came.
//
// Laws (tests/kv/eviction_test.cc, for every name of the table): evict returns a block that was inserted, is not held
// and was not evicted since; n blocks not held can be evicted n times; same calls, same answers. Costs: O(1), or O(log
// n) with a heap, an operation, amortised; nothing is allocated once warm but in maps of keys.
#pragma once

#include <cstdint>

#include "sim/base/quantities.h"
#include "sim/kv/prefix/content_tree.h"

namespace blockyard::kv {

inline constexpr std::uint64_t kNoKey = UINT64_MAX;
inline constexpr std::int64_t kNeverUsed = INT64_MAX;

// What a policy may know of a block when it is asked for.
struct Reference {
  std::uint64_t key = kNoKey;     // names its content, for good
  std::uint64_t parent = kNoKey;  // of the block before it in its chain
  std::uint32_t depth = 0;        // blocks before it in its chain
  std::uint32_t category = 0;     // of the request: whatever the workload tells kinds of requests by
  std::uint32_t tenant = 0;       // who sent it
  SimTime now;
  double cost = 1;                     // of computing it again, relative to a block at depth 0
  std::int64_t next_use = kNeverUsed;  // the request that asks for it next, where the future is known
};

struct PolicyOptions {
  std::int64_t capacity = 0;  // blocks, held ones included
  std::int64_t slots = 0;     // slots are below this, which is at least the capacity
  std::uint64_t seed = 1;
  SimTime ttl{300 * kNanosecondsPerSecond};
};

// The optional parts of the contract, absent unless a policy declares them.
struct PolicyDefaults {
  // A larger cache holds at least what a smaller one does, whatever is asked for: hits never fall with capacity.
  static constexpr bool kInclusive = false;
  // The future has to be known (Reference::next_use).
  static constexpr bool kNeedsFuture = false;
  void missed(const Reference& /*r*/) {}
};

}  // namespace blockyard::kv
