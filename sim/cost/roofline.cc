#include "sim/cost/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/base/check.h"
#include "sim/cost/assumptions.h"
#include "sim/cost/kernels.h"
#include "sim/cost/stage_time.h"

namespace blockyard::cost {
namespace {

// The hidden states and, apart from them, the residual that they are still to be added to.
constexpr double kTensorsSent = 2;

// What one group of GPUs and a pipeline of them have in common.
class RooflineBase : public CostModel {
 public:
  RooflineBase(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
               const RooflineOptions& o)
      : ranks_s_(o.engine.per_rank_s * std::log2(static_cast<double>(o.parallelism.tensor))),
        per_sequence_s_(o.engine.per_sequence_s),
        empty_step_(std::max(SimTime(1), to_time(calibration.empty_step_s))),
        provenance_(describe(spec, gpu, calibration, o)) {}

  SimTime overhead() const override { return to_time(ranks_s_); }
  SimTime empty_step() const override { return empty_step_; }
  std::string provenance() const override { return provenance_; }

 protected:
  [[nodiscard]] Seconds host(const StepWork& work) const {
    return ranks_s_ + per_sequence_s_ * static_cast<double>(work.decode_sequences + work.prefill_sequences);
  }
  static void add_chunk_to(StepWork& work, Tokens fresh, Tokens context, const AttentionTime& attention) {
    if (fresh.count() == 0) return;
    work.prefill_sequences += 1;
    work.prefill_tokens += fresh.count();
    work.prefill_pairs += attention.pairs(fresh.count(), context.count());
    work.prefill_kv_tokens += attention.kv_tokens(fresh.count(), context.count());
  }

 private:
  static std::string describe(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                              const RooflineOptions& o) {
    std::string text = fmt::format("roofline, {}: {}; {}", gpu.name, calibration.source, calibration.error);
    const std::int64_t tp = o.parallelism.tensor;
    if (tp > 1 && !all_reduce_for(calibration, gpu, tp, o.parallelism.links, o.largest_graph == 0).measured) {
      text += fmt::format("; all-reduce over {} GPUs: of like links, not measured", tp);
    }
    std::vector<std::string> assumed = assumptions(spec, gpu, calibration);
    if (o.parallelism.data > 1) {
      assumed.push_back(fmt::format(
          "experts {} over the {} GPUs of {} replicas, tokens gathered and scattered as two halves of an all-reduce "
          "over as many GPUs of one server",
          o.parallelism.experts ? "whole" : "in slices", o.parallelism.data * tp, o.parallelism.data));
    }
    if (o.stages > 1) assumed.emplace_back("the way of activations from one pipeline stage to the next");
    if (!assumed.empty()) text += fmt::format("; by rule, not measured: {}", fmt::join(assumed, "; "));
    return text;
  }

  Seconds ranks_s_;
  Seconds per_sequence_s_;
  SimTime empty_step_;
  std::string provenance_;
};

class Roofline final : public RooflineBase {
 public:
  Roofline(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
           const RooflineOptions& o)
      : RooflineBase(spec, gpu, calibration, o), model_(spec, gpu, calibration, o, model::whole_model(spec)) {}

  void add_chunk(StepWork& work, Tokens fresh, Tokens context) const override {
    add_chunk_to(work, fresh, context, model_.attention());
  }
  SimTime step(const StepWork& work) override {
    if (work.empty()) return empty_step();
    return std::max(SimTime(1), to_time(model_.seconds(work) + host(work)));
  }

 private:
  StageTime model_;
};

// Replicas that share the routed experts of a mixture, and so their steps: each layer's experts wait for the slowest.
class Lockstep final : public RooflineBase {
 public:
  Lockstep(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
           const RooflineOptions& o)
      : RooflineBase(spec, gpu, calibration, o),
        model_(spec, gpu, calibration, o, model::whole_model(spec)),
        replicas_(o.parallelism.data),
        graphs_(o.largest_graph > 0) {}

  void add_chunk(StepWork& work, Tokens fresh, Tokens context) const override {
    add_chunk_to(work, fresh, context, model_.attention());
  }
  SimTime step(const StepWork& work) override {
    if (work.empty()) return empty_step();
    Shape shape;
    shape.add(tokens_of(work), 1);
    shape.add(kDummyTokens, replicas_ - 1);
    return joint(std::max(own(work, shape), own({}, shape)), shape);
  }
  SimTime joint_step(std::span<const StepWork> works) override {
    Shape shape;
    bool any = false;
    for (const StepWork& work : works) {
      any = any || !work.empty();
      shape.add(work.empty() ? kDummyTokens : tokens_of(work), 1);
    }
    if (!any) return empty_step();
    Seconds slowest = 0;
    for (const StepWork& work : works) slowest = std::max(slowest, own(work, shape));
    return joint(slowest, shape);
  }

 private:
  static constexpr std::int64_t kDummyTokens = 1;  // of a replica that has nothing to do

  // The tokens of a step.
  struct Shape {
    std::int64_t most = 0;  // of a replica
    std::int64_t all = 0;
    void add(std::int64_t tokens, std::int64_t replicas) {
      if (replicas > 0) most = std::max(most, tokens);
      all += tokens * replicas;
    }
  };

  static std::int64_t tokens_of(const StepWork& work) { return work.decode_sequences + work.prefill_tokens; }
  // With CUDA graphs in use all replicas are padded to the largest.
  [[nodiscard]] Seconds own(const StepWork& work, const Shape& shape) {
    const std::int64_t tokens = graphs_ ? shape.most : work.empty() ? kDummyTokens : tokens_of(work);
    return model_.seconds(work, tokens) + host(work);
  }
  [[nodiscard]] SimTime joint(Seconds slowest, const Shape& shape) {
    const std::int64_t rows = graphs_ ? replicas_ * model_.padded(shape.most) : shape.all;
    return std::max(SimTime(1), to_time(slowest + model_.routed_seconds(shape.all, rows)));
  }

  StageTime model_;
  std::int64_t replicas_;
  bool graphs_;
};

class Pipeline final : public RooflineBase {
 public:
  Pipeline(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
           const RooflineOptions& o)
      : RooflineBase(spec, gpu, calibration, o),
        attention_(spec, gpu, calibration, o.parallelism.tensor, o.kv_dtype, o.largest_graph, o.attention_slowdown),
        sends_(send_of(spec, gpu, calibration, o)),
        passes_(static_cast<std::size_t>(o.stages)) {
    for (const model::Stage& stage : model::pipeline_stages(spec.num_hidden_layers, o.stages)) {
      LayerKinds layers = layer_kinds(spec, stage);
      const auto known = std::ranges::find_if(
          kinds_, [&](const Kind& kind) { return kind.samples == stage.samples && kind.layers == layers; });
      kind_of_.push_back(static_cast<std::size_t>(known - kinds_.begin()));
      if (known != kinds_.end()) continue;
      kinds_.push_back({StageTime(spec, gpu, calibration, o, stage), std::move(layers), stage.samples, SimTime(0)});
    }
  }

  std::int64_t stages() const override { return static_cast<std::int64_t>(passes_.size()); }
  void add_chunk(StepWork& work, Tokens fresh, Tokens context) const override {
    add_chunk_to(work, fresh, context, attention_);
  }
  SimTime step(const StepWork& work) override {
    if (work.empty()) return empty_step();
    stage_passes(work, passes_);
    SimTime sum;
    for (const StagePass& pass : passes_) sum += pass.computes + pass.sends;
    return sum;
  }
  // The host's time goes with the first stage.
  void stage_passes(const StepWork& work, std::span<StagePass> passes) override {
    const auto tokens = static_cast<double>(work.decode_sequences + work.prefill_tokens);
    const SimTime sends = to_time(sends_.latency_s + tokens * sends_.per_token_s);
    for (Kind& kind : kinds_) kind.computes = std::max(SimTime(1), to_time(kind.time.seconds(work)));
    for (std::size_t stage = 0; stage < kind_of_.size(); ++stage)
      passes[stage] = {kinds_[kind_of_[stage]].computes, sends};
    passes.front().computes += to_time(host(work));
    passes.back().sends = SimTime(0);
  }

 private:
  // Stages that do the same work, timed once.
  struct Kind {
    StageTime time;
    LayerKinds layers;
    bool samples = false;
    SimTime computes;  // scratch of stage_passes()
  };
  struct Send {
    Seconds latency_s = 0;
    Seconds per_token_s = 0;
  };

  // Each rank sends its share of the tensors to its like in the next stage, where the ranks gather the whole: what half
  // an all-reduce moves.
  static Send send_of(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                      const RooflineOptions& o) {
    const bool eager = o.largest_graph == 0;
    const auto ranks = static_cast<double>(o.parallelism.tensor);
    const double bytes = kTensorsSent * kActivationBytes * static_cast<double>(spec.hidden_size);
    Send send;
    if (o.stage_link) {
      send = {o.stage_link->latency_s, bytes / ranks / o.stage_link->bytes_per_s};
    } else {
      const AllReduce pair = all_reduce_for(calibration, gpu, 2, o.parallelism.links, eager).constants;
      send = {pair.latency_s, bytes / ranks / pair.bus_bandwidth_bytes_per_s};
    }
    if (o.parallelism.tensor == 1) return send;
    const AllReduce all = all_reduce_for(calibration, gpu, o.parallelism.tensor, o.parallelism.links, eager).constants;
    send.latency_s += all.latency_s;
    send.per_token_s += (ranks - 1) / ranks * bytes / all.bus_bandwidth_bytes_per_s;
    return send;
  }

  AttentionTime attention_;  // of the whole model: what a chunk's pairs are, whatever the stage
  Send sends_;
  std::vector<Kind> kinds_;
  std::vector<std::size_t> kind_of_;  // by stage
  std::vector<StagePass> passes_;     // scratch of step()
};

}  // namespace

std::unique_ptr<CostModel> make_roofline(const model::ModelSpec& spec, const model::GpuSpec& gpu,
                                         const Calibration& calibration, const RooflineOptions& options) {
  if (options.stages > 1) return std::make_unique<Pipeline>(spec, gpu, calibration, options);
  if (options.parallelism.data > 1) return std::make_unique<Lockstep>(spec, gpu, calibration, options);
  return std::make_unique<Roofline>(spec, gpu, calibration, options);
}

}  // namespace blockyard::cost
