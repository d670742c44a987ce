// All that `trace info` says of a trace, in one reading. Contents are dropped as soon as they are counted.
#pragma once

#include "sim/workload/content_store.h"
#include "sim/workload/joint_lengths.h"
#include "sim/workload/prefix_statistics.h"
#include "sim/workload/trace.h"
#include "sim/workload/trace_statistics.h"

namespace blockyard::workload {

struct Survey {
  TraceStatistics trace;
  PrefixStatistics prefixes;
  JointLengths lengths;
};

// Reads the source to its end. `read`: the report of the trace behind it, which says how large a block is. `contents`:
// where its prompts are. max_model_len 0 = no limit.
[[nodiscard]] Survey survey(RequestSource& source, const ReadReport& read, ContentStore& contents,
                            Tokens max_model_len = Tokens(0));

}  // namespace blockyard::workload
