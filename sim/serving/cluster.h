// The replicas of a model side by side, each on GPUs of its own with its own scheduler, pool and prefix cache (vLLM:
// `--data-parallel-size`), and the router that lets each request in to one of them, where it stays. The limits of the
// engine (seats, token budget, memory) are each replica's; the door before the router is one for all. Replicas of a
// dense model share nothing, so that each takes the steps it would take alone with the same arrivals. Law: the loads of
// all replicas add up to the requests let in that have not ended. Cost: O(replicas) a request; a step knows nothing of
// the others.
//
// Replicas of a mixture of experts share these: each GPU has its part of the experts for the tokens of all. They take
// their steps together, as long as any of them has something to compute (vLLM's wave): all plan at the same instant,
// the step lasts as long as the cost model says of the work of all, and one that waits for a copy keeps the others
// waiting. Left out: that vLLM's engines agree only every 32 steps that nobody has anything to do, and take idle steps
// until then. Source: vLLM 0.11, DPEngineCoreProc.run_busy_loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/serving/replica.h"
#include "sim/serving/router.h"

namespace blockyard::serving {

class Cluster {
 public:
  // `router`: nullptr for a single replica; outlives it.
  explicit Cluster(Router* router) : router_(router) {}

  void add(const ReplicaOptions& options, sched::Scheduler& scheduler, kv::Memory& memory, cost::CostModel& cost,
           metrics::Collector& collector, PromptContents* contents);

  // They take their steps together, which last as long as `cost` says.
  void step_together(cost::CostModel& cost) { together_ = &cost; }

  [[nodiscard]] std::size_t size() const { return replicas_.size(); }
  // Which steps a replica takes part in: its own, or those of all.
  [[nodiscard]] std::size_t stepper_of(std::size_t replica) const { return together_ != nullptr ? 0 : replica; }

  // Lets the request in; returns where.
  std::size_t arrive(SimTime now, RequestId id, const workload::Request& request);
  void abandon(SimTime now, RequestId id);
  // As Replica::begin, of one, or of all together.
  SimTime begin(std::size_t stepper, SimTime now, SimTime horizon, bool helped);
  [[nodiscard]] bool step_in_flight(std::size_t stepper) const { return replicas_[stepper]->step_in_flight(); }

  // How often the router wants to be told; kNever: not at all.
  [[nodiscard]] SimTime publishes_every() const { return router_ == nullptr ? kNever : router_->publishes_every(); }
  void publish();

  // The latest that a replica has been told of.
  [[nodiscard]] SimTime reached() const;
  [[nodiscard]] bool any_step_in_flight() const;
  [[nodiscard]] std::int64_t waiting() const;
  [[nodiscard]] std::int64_t unfinished() const;
  [[nodiscard]] std::int64_t finished() const;
  [[nodiscard]] std::int64_t steps_started() const;
  // With ReplicaOptions::tells_ends: as Replica::ended, of all.
  [[nodiscard]] std::vector<Replica::Ended>& ended() { return ended_; }
  // Why the run had to stop, "" while it may go on.
  [[nodiscard]] const std::string& stuck() const { return stuck_; }

 private:
  SimTime begin_together(SimTime now, SimTime horizon, bool helped);
  // Ends the steps in flight; false if nobody has anything left to do.
  bool end_together(SimTime now);
  void hear(std::size_t replica);
  [[nodiscard]] std::size_t replica_of(RequestId id) const {
    return replicas_.size() == 1 ? 0 : replica_of_[index_of(id)];
  }

  Router* router_;
  std::vector<std::unique_ptr<Replica>> replicas_;
  metrics::Collector* collector_ = nullptr;
  std::vector<std::uint16_t> replica_of_;  // by request, of several
  std::vector<ReplicaLoad> loads_;         // scratch
  cost::CostModel* together_ = nullptr;    // where they share experts
  std::vector<cost::StepWork> works_;      // scratch
  bool fast_forward_ = true;
  std::int64_t steps_per_event_ = 0;
  std::vector<Replica::Ended> ended_;
  std::string stuck_;
};

}  // namespace blockyard::serving
