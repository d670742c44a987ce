// A measured server beside the simulated one: the scenario's engine is given the requests that were measured, arrivals
// and lengths and what their prompts share, and every request's times are laid beside the measured ones. What the
// scenario says of its workload is not used. Cost: one run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/cost/constants.h"
#include "sim/metrics/quantiles.h"
#include "sim/metrics/summary.h"
#include "sim/scenario/document.h"
#include "sim/serving/run.h"
#include "sim/study/validate/measured.h"
#include "sim/study/validate/simulated_engine.h"

namespace blockyard::study {

// One time of all requests that have it on both sides.
struct ComparedTimes {
  std::string name;  // "ttft", "tpot", "itl", "e2e"
  metrics::Distribution measured;
  metrics::Distribution simulated;
  // Mean of |simulated / measured - 1| over the requests; none where they cannot be paired (itl) or none was measured.
  // Requests measured as 0 have no such error: they are counted, and are not in the mean.
  std::optional<double> per_request_error;
  std::int64_t measured_zero = 0;
};

struct ComparedFigure {
  std::string name;  // "makespan_s", "requests_per_s", "output_tokens_per_s"; no rates if the makespan is 0
  double measured = 0;
  double simulated = 0;
};

struct Validation {
  MeasuredFile file;
  SimulatedEngine engine;
  std::int64_t requests = 0;   // measured ones that were served
  std::int64_t compared = 0;   // finished in the simulation with all their tokens, and not left out
  std::int64_t cut_short = 0;  // of all, those whose outputs end at the simulated engine's max_model_len
  std::int64_t left_out = 0;   // of the first ones, as asked
  std::vector<ComparedTimes> times;
  std::vector<ComparedFigure> figures;
  metrics::Summary summary;        // of the simulated run
  std::vector<std::string> notes;  // where the two may be of different things, beside the summary's own
};

// A figure that can be tested against a bound: "ttft_mean", "e2e_p99", "makespan", "output_tokens_per_s", ... and, for
// the mean of the requests' own errors, "ttft_per_request".
struct SignedError {
  std::string name;
  double share = 0;  // simulated / measured - 1; of per_request the mean of absolute errors, of not_served of requests
};
// Requests that the server answered and the simulation does not, or not whole: times are those of the others.
inline constexpr const char* kNotServed = "not_served";
[[nodiscard]] std::vector<SignedError> errors_of(const Validation& validation);
// Figures that are on both sides and have no error, since the measured time is 0.
[[nodiscard]] std::vector<std::string> measured_as_zero(const Validation& validation);
// The names that a validation against these requests, or some of them, can have, known before anything is simulated.
// Empty: not one of them has a measured time.
[[nodiscard]] std::vector<std::string> figure_names(const MeasuredRun& run, bool all);

// Gaps between tokens, makespan and rates are those of all requests: of some they are not compared.
struct ValidateOptions {
  std::int64_t leave_out_first = 0;  // requests of a server still warming up: simulated, not compared
  std::int64_t first = 0;            // compare requests of index [first, last) only
  std::int64_t last = INT64_MAX;
  const cost::Constants* constants = nullptr;  // in place of the scenario's
  std::function<bool(const serving::RunProgress&, std::optional<std::int64_t>)> go_on{};
};

[[nodiscard]] Validation validate(const scenario::Document& scenario, const std::filesystem::path& configs,
                                  const MeasuredRun& run, const ValidateOptions& options);

// The part of it that follows the simulation.
[[nodiscard]] Validation compare_with_measured(const MeasuredRun& run, const serving::RunResult& result,
                                               const ValidateOptions& options);

// Whether the simulation gives the request all the tokens that it was measured with, none being cut at max_model_len.
[[nodiscard]] bool served_whole(const MeasuredRequest& measured, const metrics::RequestRecord& simulated);

// The measured requests as a workload.
[[nodiscard]] serving::RequestsOverride requests_of(const MeasuredRun& run);

}  // namespace blockyard::study
