// The states that partition a KV pool (each physical byte is in one of them at every instant), shared by kv, which
// keeps them, and metrics, which integrates them. Law: the sum over all states is the capacity.
//   live           slots with an owner whose token is computed, or planned in the running step (a shared block once)
//   cached         blocks with a known content and no owner
//   reserved       held beyond the block being filled, for tokens that the request will write
//   over_reserved  held beyond the request's true end
//   tail           unfilled slots of the block being filled
//   padding        held beyond the reservation (rounding of the placement)
//   external       all free memory while the head of the queue is refused although
//                  free >= its need > the largest free region
//   free           no owner, no content
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace blockyard {

enum class MemoryState : std::size_t { live, cached, reserved, over_reserved, tail, padding, external, free };
inline constexpr std::size_t kMemoryStates = 8;
inline constexpr std::array<const char*, kMemoryStates> kMemoryStateNames{
    "live", "cached", "reserved", "over_reserved", "tail", "padding", "external", "free"};

// How much of the pool is in each state, in slots (room for the KV of one token).
struct MemoryPartition {
  std::array<std::int64_t, kMemoryStates> slots{};

  std::int64_t& operator[](MemoryState state) { return slots[static_cast<std::size_t>(state)]; }
  std::int64_t operator[](MemoryState state) const { return slots[static_cast<std::size_t>(state)]; }
  [[nodiscard]] std::int64_t total() const {
    std::int64_t sum = 0;
    for (const std::int64_t n : slots) sum += n;
    return sum;
  }
};

}  // namespace blockyard
