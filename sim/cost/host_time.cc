#include "sim/cost/host_time.h"

#include <fmt/format.h>

#include <utility>

namespace blockyard::cost {
namespace {

class HostTime final : public CostModel {
 public:
  HostTime(std::unique_ptr<CostModel> gpu, SimTime host) : gpu_(std::move(gpu)), host_(host) {}

  void add_chunk(StepWork& work, Tokens fresh, Tokens context) const override { gpu_->add_chunk(work, fresh, context); }
  SimTime step(const StepWork& work) override { return gpu_->step(work) + host_; }
  SimTime joint_step(std::span<const StepWork> works) override { return gpu_->joint_step(works) + host_; }
  std::int64_t stages() const override { return gpu_->stages(); }
  void stage_passes(const StepWork& work, std::span<StagePass> passes) override {
    gpu_->stage_passes(work, passes);
    passes.front().computes += host_;
  }
  SimTime overhead() const override { return gpu_->overhead() + host_; }
  SimTime empty_step() const override { return gpu_->empty_step() + host_; }
  std::string provenance() const override {
    return fmt::format("{}; and {:.6g} ms of the host in every step", gpu_->provenance(), to_seconds(host_) * 1e3);
  }

 private:
  std::unique_ptr<CostModel> gpu_;
  SimTime host_;
};

}  // namespace

std::unique_ptr<CostModel> with_host_time(std::unique_ptr<CostModel> gpu, SimTime host) {
  return std::make_unique<HostTime>(std::move(gpu), host);
}

}  // namespace blockyard::cost
