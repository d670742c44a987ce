// Why KV goes between GPU and host, shared by sched, which moves it, and metrics, which counts it.
//   victim  all of a request that is preempted
//   tail    the end of one, whose beginning stays on the GPU
//   more    more of one that was preempted before: no preemption of its own
#pragma once

#include <array>
#include <cstddef>

namespace blockyard {

enum class SwapCause : std::size_t { victim, tail, more };
inline constexpr std::size_t kSwapCauses = 3;
inline constexpr std::array<const char*, kSwapCauses> kSwapCauseNames{"victim", "tail", "more"};

}  // namespace blockyard
