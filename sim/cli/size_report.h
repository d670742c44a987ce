// What `blockyard size` prints: one case in full, several as a table, either as JSON; a log beside our arithmetic.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/model/engine_log.h"
#include "sim/model/sizing.h"

namespace blockyard::cli {

// A trace's requests at their real lengths, prompt + output.
struct TraceFit {
  std::string file;
  std::int64_t requests = 0;
  double mean_tokens = 0;
  Tokens longest;
  std::int64_t beyond_max_model_len = 0;
  std::int64_t never_fit = 0;        // alone in the whole pool
  double mean_blocks = 0;            // of a request at its full length
  double mean_blocks_in_flight = 0;  // weighted by output tokens: a request is in flight about as long as it writes
  double concurrency = 0;            // usable blocks / mean_blocks
  double concurrency_in_flight = 0;  // usable blocks / mean_blocks_in_flight
};

// One a sizing; the trace is read once. Cost: O(requests x sizings).
[[nodiscard]] std::vector<TraceFit> measure_trace(const std::string& file, const std::string& format,
                                                  const std::vector<model::Sizing>& sizings);

void print_size(const model::Sizing& sizing, const std::vector<Tokens>& contexts, const std::optional<TraceFit>& trace,
                std::ostream& out);
void print_refusal(const model::Sizing& sizing, std::ostream& out);
// With a column for each of `contexts`, and one for the trace: `traces` has an entry a case, or none at all.
void print_table(const std::vector<model::Sizing>& cases, const std::vector<Tokens>& contexts,
                 const std::vector<TraceFit>& traces, std::ostream& out);
[[nodiscard]] nlohmann::ordered_json size_json(const model::Sizing& sizing, const std::vector<Tokens>& contexts,
                                               const std::optional<TraceFit>& trace);

// `sizing` is absent where no model was named: then the log is checked against itself.
void print_log(const model::EngineLog& log, const std::optional<model::Sizing>& sizing, std::ostream& out);
[[nodiscard]] nlohmann::ordered_json log_json(const model::EngineLog& log, const std::optional<model::Sizing>& sizing);

[[nodiscard]] double in_gib(Bytes bytes);

}  // namespace blockyard::cli
