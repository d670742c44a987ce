#include "sim/study/calibrate/time_slopes.h"

#include <algorithm>
#include <utility>

#include "sim/base/check.h"

namespace blockyard::study {
namespace {

double nanoseconds(SimTime time) { return static_cast<double>(time.count()); }

}  // namespace

TimeSlopes::TimeSlopes(std::unique_ptr<cost::CostModel> cost, std::vector<Moved> moved)
    : cost_(std::move(cost)), moved_(std::move(moved)) {}

void TimeSlopes::add(const serving::StepTaken& step) {
  if (step.replica >= of_replica_.size()) of_replica_.resize(step.replica + 1);
  Steps& steps = of_replica_[step.replica];
  const std::size_t number = steps.end.size();
  const std::size_t n = moved_.size();
  if (number == 0) steps.sums.resize(n);
  const bool goes_on = number > 0 && steps.queue_since.back() < number;
  steps.queue_since.push_back(!step.leaves_someone ? number + 1 : goes_on ? steps.queue_since.back() : number);
  const SimTime before = number > 0 ? steps.end.back() : step.start;
  steps.start.push_back(step.start);
  steps.end.push_back(step.end);
  const auto time_with = [&](cost::CostModel& cost) {
    return nanoseconds(step.work.empty() ? cost.empty_step() : cost.step(step.work));
  };
  const double as_it_is = time_with(*cost_);
  const double share = nanoseconds(step.end - std::max(step.start, before)) / nanoseconds(step.end - step.start);
  for (std::size_t j = 0; j < n; ++j) {
    steps.sums.push_back(steps.sums[number * n + j] + share * (time_with(*moved_[j].cost) - as_it_is) / moved_[j].by);
  }
}

TimeSlopes::Answer TimeSlopes::of(const metrics::RequestRecord& request, std::size_t replica, SimTime front_end) const {
  CHECK_LAW(replica < of_replica_.size(), "a request of replica {}, which took no step", replica);
  const Steps& steps = of_replica_[replica];
  const auto step_that_ends = [&](SimTime at) {
    const auto found = std::ranges::lower_bound(steps.end, at);
    CHECK_LAW(found != steps.end.end(), "no step ends at {} ns or later", at.count());
    return static_cast<std::size_t>(found - steps.end.begin());
  };
  const SimTime came = request.arrival + front_end;
  const std::size_t first = step_that_ends(request.first_token);
  const std::size_t last = step_that_ends(request.ended);
  const std::size_t met = std::min(first, step_that_ends(came + SimTime(1)));
  const bool in_flight = steps.start[met] <= came;
  const bool queues = in_flight && steps.queue_since[met] <= met;
  const double rest =
      in_flight ? nanoseconds(steps.end[met] - came) / nanoseconds(steps.end[met] - steps.start[met]) : 1;
  Answer answer;
  for (std::size_t j = 0; j < moved_.size(); ++j) {
    const double to_end_of_met =
        queues ? between(steps, steps.queue_since[met], met + 1, j) : rest * between(steps, met, met + 1, j);
    answer.to_first_token.push_back(nanoseconds(moved_[j].front_end) / moved_[j].by + to_end_of_met +
                                    between(steps, met + 1, first + 1, j));
    answer.from_there_to_end.push_back(between(steps, first + 1, last + 1, j));
  }
  return answer;
}

}  // namespace blockyard::study
