#include "sim/serving/cluster.h"

#include <fmt/format.h>

#include <algorithm>

namespace blockyard::serving {
namespace {

template <class Get>
std::int64_t sum_over(const std::vector<std::unique_ptr<Replica>>& replicas, const Get& get) {
  std::int64_t sum = 0;
  for (const auto& replica : replicas) sum += get(*replica);
  return sum;
}

}  // namespace

void Cluster::add(const ReplicaOptions& options, sched::Scheduler& scheduler, kv::Memory& memory, cost::CostModel& cost,
                  metrics::Collector& collector, PromptContents* contents) {
  ReplicaOptions own = options;
  own.number = replicas_.size();
  own.one_of_several = router_ != nullptr;
  own.tells_load = publishes_every() != kNever;
  replicas_.push_back(std::make_unique<Replica>(own, scheduler, memory, cost, collector, contents));
  loads_.resize(replicas_.size());
  works_.resize(replicas_.size());
  fast_forward_ = options.fast_forward;
  steps_per_event_ = options.steps_per_event;
  collector_ = &collector;
}

std::size_t Cluster::arrive(SimTime now, RequestId id, const workload::Request& request) {
  std::size_t to = 0;
  if (replicas_.size() > 1) {
    for (std::size_t i = 0; i < replicas_.size(); ++i) loads_[i] = replicas_[i]->load();
    to = router_->route(loads_);
    CHECK_LAW(to < replicas_.size(), "a request is sent to replica {} of {}", to, replicas_.size());
    replica_of_.resize(index_of(id) + 1);
    replica_of_[index_of(id)] = static_cast<std::uint16_t>(to);
    collector_->routed(record(id), to);
  }
  replicas_[to]->arrive(now, id, request);
  return to;
}

void Cluster::abandon(SimTime now, RequestId id) {
  const std::size_t at = replica_of(id);
  replicas_[at]->abandon(now, id);
  hear(at);
}

SimTime Cluster::begin(std::size_t stepper, SimTime now, SimTime horizon, bool helped) {
  if (together_ != nullptr) return begin_together(now, horizon, helped);
  const SimTime end = replicas_[stepper]->begin(now, horizon, helped);
  hear(stepper);
  return end;
}

SimTime Cluster::begin_together(SimTime now, SimTime horizon, bool helped) {
  for (std::int64_t steps = 0;; ++steps) {
    if (!end_together(now)) {
      for (const auto& replica : replicas_) replica->rest();
      return kNever;
    }
    SimTime held;
    for (std::size_t i = 0; i < replicas_.size(); ++i) {
      works_[i] = replicas_[i]->plan(now, helped);
      held = std::max(held, replicas_[i]->held_up());
    }
    const SimTime lasts = held + together_->joint_step(works_);
    for (const auto& replica : replicas_) replica->take(now, lasts);
    const SimTime end = now + lasts;
    const bool must_return = !fast_forward_ || steps >= steps_per_event_ || !ended_.empty();
    if (must_return || end >= horizon) return end;
    now = end;
  }
}

bool Cluster::end_together(SimTime now) {
  bool anybody = false;
  for (std::size_t i = 0; i < replicas_.size(); ++i) {
    replicas_[i]->end(now);
    hear(i);
    anybody = anybody || replicas_[i]->wants_to_step();
  }
  return anybody && stuck_.empty();
}

void Cluster::hear(std::size_t replica) {
  Replica& of = *replicas_[replica];
  if (of.ended().empty() && of.stuck().empty()) return;
  ended_.insert(ended_.end(), of.ended().begin(), of.ended().end());
  of.ended().clear();
  if (of.stuck().empty() || !stuck_.empty()) return;
  stuck_ = replicas_.size() == 1 ? of.stuck() : fmt::format("replica {}: {}", replica, of.stuck());
}

void Cluster::publish() {
  for (std::size_t i = 0; i < replicas_.size(); ++i) loads_[i] = replicas_[i]->load_at_last_step();
  router_->published(loads_);
}

SimTime Cluster::reached() const {
  SimTime latest;
  for (const auto& replica : replicas_) latest = std::max(latest, replica->reached());
  return latest;
}

bool Cluster::any_step_in_flight() const {
  return std::ranges::any_of(replicas_, [](const auto& replica) { return replica->step_in_flight(); });
}

std::int64_t Cluster::waiting() const {
  return sum_over(replicas_, [](const Replica& replica) { return replica.waiting(); });
}

std::int64_t Cluster::unfinished() const {
  return sum_over(replicas_, [](const Replica& replica) { return replica.unfinished(); });
}

std::int64_t Cluster::finished() const {
  return sum_over(replicas_, [](const Replica& replica) { return replica.finished(); });
}

std::int64_t Cluster::steps_started() const {
  return sum_over(replicas_, [](const Replica& replica) { return replica.steps_started(); });
}

}  // namespace blockyard::serving
