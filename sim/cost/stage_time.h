// What one group of GPUs spends on a batch: the roofline (roofline.h) over the layers that it holds, and the output
// head and the sampler if it holds them. The whole model is one stage; a pipeline has several. Cost: O(groups of like
// layers): look-ups for the tokens of the step and for the sampled rows, closed forms for attention.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cost/attention_time.h"
#include "sim/cost/layer_time.h"
#include "sim/cost/roofline.h"
#include "sim/model/weights.h"

namespace blockyard::cost {

class StageTime {
 public:
  StageTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
            const RooflineOptions& options, const model::Stage& stage);

  // Fills its tables as sizes occur; the result does not depend on what was asked before.
  [[nodiscard]] Seconds seconds(const StepWork& work) {
    return seconds(work, work.decode_sequences + work.prefill_tokens);
  }
  // The same in a step that is padded to so many tokens; of replicas that share experts, without these.
  [[nodiscard]] Seconds seconds(const StepWork& work, std::int64_t tokens);
  // Of such replicas: the experts over the tokens of all, and the rows that these are padded to. Computed each time.
  [[nodiscard]] Seconds routed_seconds(std::int64_t tokens_of_all, std::int64_t rows_of_all) const {
    return layer_time_.routed(tokens_of_all, rows_of_all);
  }
  [[nodiscard]] std::int64_t padded(std::int64_t tokens) const { return layer_time_.padded(tokens); }
  [[nodiscard]] const AttentionTime& attention() const { return attention_; }

 private:
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

  LayerTime layer_time_;
  AttentionTime attention_;
  bool samples_;
  Table layers_;
  Table head_;
};

inline Seconds StageTime::seconds(const StepWork& work, std::int64_t tokens) {
  const Seconds linear = layers_.at(tokens, [this](std::int64_t count) { return layer_time_.layers(count); });
  const Seconds head =
      samples_ ? head_.at(work.sampled_sequences, [this](std::int64_t rows) { return layer_time_.head(rows); }) : 0;
  return linear + head + attention_.seconds(work);
}

}  // namespace blockyard::cost
