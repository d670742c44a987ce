// The replicas of a model side by side, each on GPUs of its own with its own scheduler, pool and prefix cache (vLLM:
// `--data-parallel-size`), and the router that lets each request in to one of them, where it stays. The limits of the
// engine (seats, token budget, memory) are each replica's; the door before the router is one for all. Replicas share
// nothing, so that each takes the steps it would take alone with the same arrivals. Law: the loads of all replicas add
// up to the requests let in that have not ended. Cost: O(replicas) a request; a step knows nothing of the others.
#pragma once

#include <cstdint>
#include <deque>
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

  [[nodiscard]] std::size_t size() const { return replicas_.size(); }

  // Lets the request in; returns where.
  std::size_t arrive(SimTime now, RequestId id, const workload::Request& request);
  void abandon(SimTime now, RequestId id);
  // As Replica::begin, of one.
  SimTime begin(std::size_t replica, SimTime now, SimTime horizon, bool helped);
  [[nodiscard]] bool step_in_flight(std::size_t replica) const { return replicas_[replica].step_in_flight(); }

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
  void hear(std::size_t replica);
  [[nodiscard]] std::size_t replica_of(RequestId id) const {
    return replicas_.size() == 1 ? 0 : replica_of_[index_of(id)];
  }

  Router* router_;
  std::deque<Replica> replicas_;
  metrics::Collector* collector_ = nullptr;
  std::vector<std::uint16_t> replica_of_;  // by request, of several
  std::vector<ReplicaLoad> loads_;         // scratch
  std::vector<Replica::Ended> ended_;
  std::string stuck_;
};

}  // namespace blockyard::serving
