// Logs of OpenAI-style servers and gateways, JSON lines or an array: the answer objects of the API, plain, or under
// "response" and "body", with
//   usage.prompt_tokens or .input_tokens, usage.completion_tokens or .output_tokens (also at the top), and
//   usage.prompt_tokens_details.cached_tokens or usage.cached_tokens: what was repeated, for the statistics
//   created, created_at: seconds since the epoch, a number or a string, or a date and time; 19 digits in a string: ns
//   timestamp, time, arrival_time or start_time: likewise, but a string of digits is always ns
//   timestamp_ms, _us or _ns, created_ms, _us or _ns, startTimeUnixNano: a number or string of these
//   session_id, conversation_id or session: the session; user, user_id or tenant: the tenant; model: the category
//   status, status_code, error: a row without success (status.h), or whose error is not null, has failed
// Lengths of -1 mark failures as well. Requests come at their times.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_openai_log(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_openai_log(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
