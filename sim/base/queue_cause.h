// Why nobody was admitted from the waiting line in a step, shared by sched, which knows, and metrics, which adds it up.
//   seat          every seat (max_num_seqs) was taken
//   token_budget  the step's token budget was used up, or too small for the head's whole prompt
//   kv_memory     the head found no KV memory, or a running request had to go for lack of it
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace blockyard {

enum class QueueCause : std::uint8_t { seat, token_budget, kv_memory };
inline constexpr std::size_t kQueueCauses = 3;
inline constexpr std::array<const char*, kQueueCauses> kQueueCauseNames{"seat", "token_budget", "kv_memory"};

}  // namespace blockyard
