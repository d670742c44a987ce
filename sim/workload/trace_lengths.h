// Lengths drawn from those of a trace: each draw is one of its rows, prompt and output together, all rows alike. Law:
// the mean over many draws is the trace's. The rows are held, 8 bytes each; O(1) a draw.
#pragma once

#include <memory>

#include "sim/workload/joint_length_distribution.h"

namespace blockyard::workload {

// Any format that open_trace recognises. Throws InputError as it does, and for a trace without rows.
[[nodiscard]] std::unique_ptr<JointLengthDistribution> make_trace_lengths(const JointLengthSpec& spec);

}  // namespace blockyard::workload
