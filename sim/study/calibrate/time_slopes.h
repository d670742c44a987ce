// How the times of requests answer to the constants of the cost model, from a single run: each step is timed once more
// with one constant moved, for every constant, and the schedule is taken as it was. Differences of whole runs would
// jitter, since a request just meets a plan or just misses it; these do not, so that constants that do nearly the same
// are told apart.
//
// A request waits for the rest of the step in flight: it keeps its place within that step, and the step its work. Its
// own steps follow. Where somebody was left in the queue when it came, it waits for others to end, and what delayed
// them delays it: it answers for every step since the queue began. Left out: that slower steps make larger batches, and
// of replicas that step together the others.
//
// In a pipeline, where batches overlap, a batch counts with the share of its time after the end of the one before.
//
// Cost: a step one evaluation for each constant, and as many sums kept; a request O(log steps + constants). Source:
// perturbation analysis of queues (Ho and Cao, 1991), smoothed over where in a step a request comes.
#pragma once

#include <memory>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/metrics/record.h"
#include "sim/serving/replica.h"

namespace blockyard::study {

class TimeSlopes {
 public:
  struct Moved {
    std::unique_ptr<cost::CostModel> cost;  // with a constant moved
    double by = 0;
    SimTime front_end;  // how much later a request gets to the engine
  };
  TimeSlopes(std::unique_ptr<cost::CostModel> cost, std::vector<Moved> moved);

  void add(const serving::StepTaken& step);

  // Nanoseconds for a unit of each constant.
  struct Answer {
    std::vector<double> to_first_token;
    std::vector<double> from_there_to_end;
  };
  // Of a request that got all its tokens; `front_end`: what it took to the engine.
  [[nodiscard]] Answer of(const metrics::RequestRecord& request, std::size_t replica, SimTime front_end) const;

 private:
  struct Steps {
    std::vector<SimTime> start;
    std::vector<SimTime> end;
    std::vector<std::size_t> queue_since;  // the first of the steps up to this one that left somebody in the queue; the
                                           // step after this one if it left nobody
    std::vector<double> sums;              // of the slopes of all steps before, a row a step
  };
  [[nodiscard]] double between(const Steps& steps, std::size_t from, std::size_t to, std::size_t constant) const {
    return steps.sums[to * moved_.size() + constant] - steps.sums[from * moved_.size() + constant];
  }

  std::unique_ptr<cost::CostModel> cost_;
  std::vector<Moved> moved_;
  std::vector<Steps> of_replica_;
};

}  // namespace blockyard::study
