#include "sim/workload/trace_lengths.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/trace.h"

namespace blockyard::workload {
namespace {

class TraceLengths final : public JointLengthDistribution {
 public:
  explicit TraceLengths(const JointLengthSpec& spec) : max_total_(spec.max_total) {
    TraceOptions options;
    options.untimed = UntimedRows::keep;
    const auto trace = open_trace(spec.file.string(), options);
    std::array<Request, 256> requests;
    while (const std::size_t count = trace->read(requests)) {
      for (const Request& request : std::span(requests).first(count)) {
        rows_.push_back({static_cast<std::int32_t>(request.prompt_tokens.count()),
                         static_cast<std::int32_t>(request.output_tokens.count())});
      }
    }
    if (rows_.empty()) throw InputError({spec.file.string()}, "holds no request to take lengths from");
  }

  void draw(RandomStream& stream, std::span<Tokens> prompts, std::span<Tokens> outputs) override {
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const Row& row = rows_[static_cast<std::size_t>(stream.integer(0, std::ssize(rows_) - 1))];
      prompts[i] = Tokens(row.prompt);
      outputs[i] = Tokens(row.output);
      if (max_total_) outputs[i] = std::clamp(outputs[i], Tokens(1), std::max(Tokens(1), *max_total_ - prompts[i]));
    }
  }

 private:
  struct Row {
    std::int32_t prompt = 0;
    std::int32_t output = 0;
  };
  std::vector<Row> rows_;
  std::optional<Tokens> max_total_;
};

}  // namespace

std::unique_ptr<JointLengthDistribution> make_trace_lengths(const JointLengthSpec& spec) {
  return std::make_unique<TraceLengths>(spec);
}

}  // namespace blockyard::workload
