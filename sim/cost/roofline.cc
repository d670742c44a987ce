#include "sim/cost/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/base/check.h"
#include "sim/cost/assumptions.h"
#include "sim/cost/attention_time.h"

namespace blockyard::cost {
namespace {

// A function of a count, remembered up to a limit. Times are >= 0, so a negative entry is one not yet asked for.
class Table {
 public:
  explicit Table(std::int64_t limit) : entries_(static_cast<std::size_t>(limit) + 1, -1.0) {}

  template <class Function>
  Seconds at(std::int64_t count, const Function& compute) {
    const auto index = static_cast<std::size_t>(count);
    if (index >= entries_.size()) return compute(count);
    Seconds& entry = entries_[index];
    if (entry < 0) entry = compute(count);
    return entry;
  }

 private:
  std::vector<Seconds> entries_;
};

class Roofline final : public CostModel {
 public:
  Roofline(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
           const RooflineOptions& o)
      : layer_time_(spec, gpu, calibration, o.parallelism, o.largest_graph),
        attention_(spec, gpu, calibration, o.parallelism.tensor, o.kv_dtype, o.attention_slowdown),
        layers_(o.table_tokens),
        head_(o.table_tokens),
        ranks_s_(o.engine.per_rank_s * std::log2(static_cast<double>(o.parallelism.tensor))),
        per_sequence_s_(o.engine.per_sequence_s),
        empty_step_(std::max(SimTime(1), to_time(calibration.empty_step_s))),
        provenance_(describe(spec, gpu, calibration, o)) {}

  void add_chunk(StepWork& work, Tokens fresh, Tokens context) const override {
    if (fresh.count() == 0) return;
    work.prefill_sequences += 1;
    work.prefill_tokens += fresh.count();
    work.prefill_pairs += attention_.pairs(fresh.count(), context.count());
    work.prefill_kv_tokens += attention_.kv_tokens(fresh.count(), context.count());
  }

  SimTime step(const StepWork& work) override {
    if (work.empty()) return empty_step_;
    const Seconds linear = layers_.at(work.decode_sequences + work.prefill_tokens,
                                      [this](std::int64_t tokens) { return layer_time_.layers(tokens); });
    const Seconds head = head_.at(work.sampled_sequences, [this](std::int64_t rows) { return layer_time_.head(rows); });
    const Seconds host =
        ranks_s_ + per_sequence_s_ * static_cast<double>(work.decode_sequences + work.prefill_sequences);
    return std::max(SimTime(1), to_time(linear + head + attention_.seconds(work) + host));
  }

  SimTime overhead() const override { return to_time(ranks_s_); }
  SimTime empty_step() const override { return empty_step_; }
  std::string provenance() const override { return provenance_; }

 private:
  static std::string describe(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                              const RooflineOptions& o) {
    std::string text = fmt::format("roofline, {}: {}; {}", gpu.name, calibration.source, calibration.error);
    const std::int64_t tp = o.parallelism.tensor;
    if (tp > 1 && !all_reduce_for(calibration, gpu, tp, o.parallelism.links, o.largest_graph == 0).measured) {
      text += fmt::format("; all-reduce over {} GPUs: of like links, not measured", tp);
    }
    const std::vector<std::string> assumed = assumptions(spec, gpu, calibration);
    if (!assumed.empty()) text += fmt::format("; by rule, not measured: {}", fmt::join(assumed, "; "));
    return text;
  }

  LayerTime layer_time_;
  AttentionTime attention_;
  Table layers_;
  Table head_;
  Seconds ranks_s_;
  Seconds per_sequence_s_;
  SimTime empty_step_;
  std::string provenance_;
};

}  // namespace

std::unique_ptr<CostModel> make_roofline(const model::ModelSpec& spec, const model::GpuSpec& gpu,
                                         const Calibration& calibration, const RooflineOptions& options) {
  CHECK_LAW(options.table_tokens >= 0, "table_tokens {}", options.table_tokens);
  return std::make_unique<Roofline>(spec, gpu, calibration, options);
}

}  // namespace blockyard::cost
