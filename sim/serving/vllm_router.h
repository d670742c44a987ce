// How vLLM V1's front end spreads requests over the ranks of one `vllm serve --data-parallel-size N`: to the smallest
// 4 x waiting + running, of equals the lowest rank. It knows counts as a coordinator published them, at most every
// 100 ms, and adds to `waiting` what it has sent since. An engine tells the coordinator its counts after each step,
// when it has not yet taken in what arrived during that step: a publication makes the router forget requests that it
// has just sent.
//
// Left out: several front-end processes (each starts the search at a rank of its own and counts each request it sends
// as many times as there are processes), the coordinator's own delay (it holds a publication up to 50 ms for the ranks
// to finish a step), publications that are not due on a grid of 100 ms, and that samples of a request are sent apart.
// Source: vLLM 0.11, DPLBAsyncMPClient.get_core_engine_for_request, DPCoordinatorProc.
#pragma once

#include <vector>

#include "sim/serving/router.h"

namespace blockyard::serving {

class VllmRouter final : public Router {
 public:
  static constexpr SimTime kPublished = SimTime(100'000'000);
  static constexpr std::int64_t kWaitingWeighs = 4;

  explicit VllmRouter(std::size_t replicas) : known_(replicas) {}

  std::size_t route(std::span<const ReplicaLoad> /*loads*/) override {
    std::size_t best = 0;
    for (std::size_t i = 1; i < known_.size(); ++i) {
      if (score(known_[i]) < score(known_[best])) best = i;
    }
    ++known_[best].waiting;
    return best;
  }
  SimTime publishes_every() const override { return kPublished; }
  void published(std::span<const ReplicaLoad> loads) override { known_.assign(loads.begin(), loads.end()); }

 private:
  [[nodiscard]] static std::int64_t score(const ReplicaLoad& load) {
    return kWaitingWeighs * load.waiting + load.running;
  }

  std::vector<ReplicaLoad> known_;
};

}  // namespace blockyard::serving
