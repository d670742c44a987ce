// What a length predictor says of a request's output: the true length times log-normal noise of mean 1 and a given
// coefficient of variation (0 = it knows), rounded, at least 1. Of one request it always says the same, whoever asks
// and in whatever order.
#pragma once

#include <algorithm>
#include <cmath>

#include "sim/base/random.h"
#include "sim/sched/waiting_queue.h"

namespace blockyard::sched {

[[nodiscard]] inline Tokens predicted_output(const workload::Request& request, RequestId id,
                                             const QueueOptions& options) {
  if (options.prediction_cv == 0) return request.output_tokens;
  constexpr std::uint64_t kGolden = 0x9E3779B97F4A7C15ULL;  // spreads neighbouring ids over the seeds
  RandomStream stream(options.seed + kGolden * (static_cast<std::uint64_t>(id) + 1), "predicted_lengths");
  const double noisy = static_cast<double>(request.output_tokens.count()) * stream.lognormal(1, options.prediction_cv);
  return Tokens(std::max<std::int64_t>(1, std::llround(std::min(noisy, 1e12))));
}

}  // namespace blockyard::sched
