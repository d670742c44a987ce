// A recorded run that differs, made smaller without running the engine again: the lines up to the difference, without
// what the engine cannot have felt by then, so that they stay true:
//   - requests that have not arrived by then;
//   - first come, first served: those at the back of the queue that were never scheduled. A head that cannot be
//   admitted
//     changes nothing but who waits behind it, so only the counts of `q` are lowered;
//   - tokens that a request still running could generate afterwards.
// Requests keep their index: they go from the end of the list only. The difference is the same in step and key.
// Cost: a replay for each request that has to stay though the engine did not feel it.
#pragma once

#include "sim/study/conform/replay.h"

namespace blockyard::study {

[[nodiscard]] Record cut_after_difference(const Record& record, const Difference& difference);

}  // namespace blockyard::study
