// A change of a KV pool, as a listener is told of it.
//   admit      a sequence gets its first memory; `tokens` are its first
//   grow       a sequence is to write `tokens` more
//   release    a sequence ends or is preempted and gives back all; `tokens` it had written
//   refuse     the head of the queue is refused for its place, not for its size: free memory is external from now on
//   clear      whoever was so refused has left the queue
// A sequence that decodes grows by a token in each step.
#pragma once

#include <array>
#include <cstddef>
#include <functional>

#include "sim/base/ids.h"
#include "sim/base/memory_states.h"
#include "sim/base/quantities.h"

namespace blockyard {

enum class MemoryOperation : std::size_t { admit, grow, release, refuse, clear };
inline constexpr std::array<const char*, 5> kMemoryOperationNames{"admit", "grow", "release", "refuse", "clear"};

struct MemoryChange {
  MemoryOperation operation = MemoryOperation::admit;
  RequestId request{};
  Tokens tokens;
  MemoryPartition after;
};

using MemoryListener = std::function<void(const MemoryChange&)>;

}  // namespace blockyard
