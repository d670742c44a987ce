// What an engine spends beside its kernels. None of it shows in kernel benchmarks: only whole servers tell, so each
// figure names the servers that it was taken from.
//
//   front end   HTTP, tokenizer and the first token's way back: from a client's sending to the engine and back, a
//   request step        scheduling, input preparation, output processing of one step, as far as the GPU waits for it:
//               per_step + per_sequence x sequences + per_rank x log2(tensor-parallel ranks)
//
// Engines with asynchronous scheduling hide the host's step behind the GPU's: measured servers of one, two and four
// GPUs leave nothing that these terms would explain, so they are 0 unless the scenario or a calibration says otherwise.
#pragma once

#include <cstdint>

#include "sim/base/quantities.h"

namespace blockyard::cost {

struct EngineTime {
  Seconds per_step_s = 0;  // added by host_time.h, to the time of whatever model; the others are the roofline's
  Seconds per_sequence_s = 0;
  Seconds per_rank_s = 0;  // for each doubling of the ranks
};

// vLLM 0.15 behind its HTTP server, seen by a client on another process: the time that brings simulated TTFT nearest to
// measured, relative errors squared and summed, over three servers of dense models on H100 (scripts/accuracy
// --front-end prints each).
inline constexpr Seconds kHttpFrontEnd = 7.1e-3;

}  // namespace blockyard::cost
