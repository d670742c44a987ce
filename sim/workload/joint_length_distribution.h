// Prompt and output lengths drawn together, so that what long prompts say of their answers is kept: the distributions
// that a scenario may name under workload.generate.lengths.
//
//   histogram  a CSV with a row a cell: the counted requests whose prompt and output lie in two ranges, and their means
//
//     prompt_from,prompt_to,output_from,output_to,count,mean_prompt,mean_output      any order, other columns ignored
//     1,3,8,15,941,2.17,10.19
//
//   A cell is drawn in proportion to its count; then the two lengths, each by itself, uniform over the widest part of
//   its range whose middle is the cell's mean: with range a..b and mean m, over [2m - b, b] or [a, 2m - a]. Fractions
//   are rounded up with their own probability. Without the columns of means the middle of the range stands for them.
//
// Law: the mean over many draws is the histogram's, sum(count x mean) / sum(count). Cost: O(log cells) a draw.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>

#include "sim/base/quantities.h"
#include "sim/base/random.h"

namespace blockyard::workload {

struct JointLengthSpec {
  std::filesystem::path file;
  std::optional<Tokens> max_total{};  // longest prompt + output: of a longer draw the output is cut, at least 1 is left
  bool from_trace = false;            // the file is a trace, whose rows are drawn (trace_lengths.h), not a histogram
};

class JointLengthDistribution {
 public:
  virtual ~JointLengthDistribution() = default;
  // Two spans of one size.
  virtual void draw(RandomStream& stream, std::span<Tokens> prompts, std::span<Tokens> outputs) = 0;
};

// Throws InputError with everything that is wrong with the file, at its line.
[[nodiscard]] std::unique_ptr<JointLengthDistribution> make_joint_lengths(const JointLengthSpec& spec);

}  // namespace blockyard::workload
