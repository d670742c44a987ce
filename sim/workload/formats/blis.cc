#include "sim/workload/formats/blis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/workload/csv_fields.h"
#include "sim/workload/csv_reader.h"
#include "sim/workload/numbers.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 11> kColumns{{{"arrival_time_us", CsvField::time, true},
                                              {"input_tokens", CsvField::prompt_tokens, true},
                                              {"output_tokens", CsvField::output_tokens, true},
                                              {"tenant_id", CsvField::tenant_name, false},
                                              {"slo_class", CsvField::category, false},
                                              {"vllm_priority", CsvField::priority, false},
                                              {"session_id", CsvField::session_name, false},
                                              {"prefix_group", CsvField::prefix_name, false},
                                              {"prefix_length", CsvField::prefix_tokens, false},
                                              {"status", CsvField::status, false},
                                              {"think_time_us", CsvField::delay, false}}};
constexpr CsvLayout kLayout{
    kColumns,
    "request_id,client_id,tenant_id,slo_class,session_id,round_index,prefix_group,prefix_length,streaming,input_tokens,"
    "output_tokens,text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,model,deadline_us,"
    "server_input_tokens,arrival_time_us,send_time_us,first_chunk_time_us,last_chunk_time_us,num_chunks,status,"
    "error_message,finish_reason",
    TimeForm::microseconds, TimeForm::microseconds};

constexpr std::array<std::string_view, 11> kHeaderKeys{
    "trace_version", "time_unit",           "mode",       "warm_up_requests",    "workload_seed",         "server",
    "network",       "goodput_slo_targets", "kv_offload", "observed_kv_metrics", "session_context_growth"};

// A scalar of YAML as it is meant: without a comment behind it, and without quotes.
std::string_view plain_scalar(std::string_view text) {
  text = trimmed(text);
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    const std::size_t close = text.find(text[0], 1);
    return close == std::string_view::npos ? text : text.substr(1, close - 1);
  }
  const std::size_t comment = text.starts_with('#') ? 0 : text.find(" #");
  return trimmed(text.substr(0, comment));
}

// Lines of the YAML header above the CSV. Only its outermost keys are looked at.
void skip_yaml(LineReader& lines) {
  std::string_view line;
  while (!has_columns(lines.peek(), kLayout)) {
    if (!lines.next(line))
      throw InputError({lines.file()}, "no columns arrival_time_us, input_tokens and output_tokens");
    if (line.empty() || line[0] == ' ' || line[0] == '\t' || line[0] == '#' || line[0] == '-') continue;
    const std::string_view key = plain_scalar(line.substr(0, line.find(':')));
    if (line.find(':') == std::string_view::npos || std::ranges::find(kHeaderKeys, key) == kHeaderKeys.end()) {
      const std::vector<std::string> names(kHeaderKeys.begin(), kHeaderKeys.end());
      throw InputError(lines.place(1), fmt::format("found {}, expected a key of a TraceV2 header ({}) or its columns{}",
                                                   quoted(line), fmt::join(names, ", "), did_you_mean(key, names)));
    }
    const std::string_view value = plain_scalar(line.substr(line.find(':') + 1));
    if (key == "time_unit" && value != "us" && value != "microseconds") {
      throw InputError(lines.place(1), fmt::format("time_unit: found {}, expected microseconds", quoted(value)));
    }
  }
}

}  // namespace

bool is_blis(const Opening& opening) {
  return opening.has_columns({"arrival_time_us", "input_tokens", "output_tokens"}) || has_blis_header(opening);
}

bool has_blis_header(const Opening& opening) {
  return opening.has_line({"trace_version:", "\"trace_version\":", "'trace_version':"});
}

std::unique_ptr<RowReader> open_blis(LineReader lines, const ReaderOptions& options) {
  if (options.header) skip_yaml(lines);
  return open_csv(std::move(lines), options.header, kLayout);
}

}  // namespace blockyard::workload
