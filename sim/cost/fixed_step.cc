#include "sim/cost/fixed_step.h"

#include <fmt/format.h>

#include "sim/base/check.h"

namespace blockyard::cost {
namespace {

class FixedStep final : public CostModel {
 public:
  FixedStep(SimTime step, std::int64_t stages) : step_(step), stages_(stages) {
    CHECK_LAW(stages > 0 && step.count() >= stages, "a step of {} ns in {} stages", step.count(), stages);
  }

  void add_chunk(StepWork& work, Tokens fresh, Tokens context) const override {
    if (fresh.count() == 0) return;
    const double n = static_cast<double>(fresh.count());
    work.prefill_sequences += 1;
    work.prefill_tokens += fresh.count();
    work.prefill_pairs += n * static_cast<double>(context.count()) + n * n / 2;
    work.prefill_kv_tokens += fresh.count() + context.count();
  }

  SimTime step(const StepWork&) override { return step_; }
  SimTime empty_step() const override { return step_; }
  std::int64_t stages() const override { return stages_; }
  // What does not divide goes to the first.
  void stage_passes(const StepWork&, std::span<StagePass> passes) override {
    for (StagePass& pass : passes) pass = {SimTime(step_.count() / stages_), SimTime(0)};
    passes.front().computes += SimTime(step_.count() % stages_);
  }
  std::string provenance() const override { return fmt::format("every step takes {} s", to_seconds(step_)); }

 private:
  SimTime step_;
  std::int64_t stages_;
};

}  // namespace

std::unique_ptr<CostModel> make_fixed(SimTime step, std::int64_t stages) {
  return std::make_unique<FixedStep>(step, stages);
}

}  // namespace blockyard::cost
