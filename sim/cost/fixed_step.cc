#include "sim/cost/fixed_step.h"

#include <fmt/format.h>

#include "sim/base/check.h"

namespace blockyard::cost {
namespace {

class FixedStep final : public CostModel {
 public:
  explicit FixedStep(SimTime step) : step_(step) { CHECK_LAW(step > SimTime(0), "a step of {} ns", step.count()); }

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
  std::string provenance() const override { return fmt::format("every step takes {} s", to_seconds(step_)); }

 private:
  SimTime step_;
};

}  // namespace

std::unique_ptr<CostModel> make_fixed(SimTime step) { return std::make_unique<FixedStep>(step); }

}  // namespace blockyard::cost
