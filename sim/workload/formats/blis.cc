#include "sim/workload/formats/blis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>
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
constexpr CsvLayout kLayout{kColumns, TimeForm::microseconds, TimeForm::microseconds};

constexpr std::array<std::string_view, 11> kHeaderKeys{
    "trace_version", "time_unit",           "mode",       "warm_up_requests",    "workload_seed",         "server",
    "network",       "goodput_slo_targets", "kv_offload", "observed_kv_metrics", "session_context_growth"};

// Lines of the YAML header above the CSV. Only its outermost keys are looked at.
void skip_yaml(LineReader& lines) {
  Diagnostics errors;
  std::string_view line;
  while (!Opening(lines).has_columns({"arrival_time_us", "input_tokens", "output_tokens"})) {
    if (!lines.next(line)) errors.add({lines.file()}, "no columns arrival_time_us, input_tokens and output_tokens");
    errors.throw_if_any();
    if (line.empty() || line[0] == ' ' || line[0] == '\t' || line[0] == '#' || line[0] == '-') continue;
    const std::string_view key = trimmed(line.substr(0, line.find(':')));
    if (line.find(':') == std::string_view::npos || std::ranges::find(kHeaderKeys, key) == kHeaderKeys.end()) {
      const std::vector<std::string> names(kHeaderKeys.begin(), kHeaderKeys.end());
      throw InputError(lines.place(1), fmt::format("found {}, expected a key of a TraceV2 header ({}) or its columns{}",
                                                   quoted(line), fmt::join(names, ", "), did_you_mean(key, names)));
    }
    const std::string_view value = trimmed(line.substr(line.find(':') + 1));
    if (key == "time_unit" && value != "us" && value != "microseconds" && value != "\"us\"" &&
        value != "\"microseconds\"") {
      throw InputError(lines.place(1), fmt::format("time_unit: found {}, expected microseconds", quoted(value)));
    }
  }
}

// A think time belongs to the rounds of a session behind the first.
class Rounds final : public RowReader {
 public:
  explicit Rounds(std::unique_ptr<RowReader> rows) : rows_(std::move(rows)) {}

  bool read(RowBatch& batch) override {
    const bool more = rows_->read(batch);
    for (std::size_t i = 0; i < batch.size; ++i) {
      TraceRow& row = batch.rows[i];
      if (row.session == 0 || begun_.insert(row.session).second) row.delay_ns = kAtArrival.count();
    }
    return more;
  }
  [[nodiscard]] const std::string& file() const override { return rows_->file(); }

 private:
  std::unique_ptr<RowReader> rows_;
  std::unordered_set<std::uint32_t> begun_;
};

}  // namespace

bool is_blis(const Opening& opening) {
  return opening.has_columns({"arrival_time_us", "input_tokens", "output_tokens"}) ||
         opening.line().starts_with("trace_version:");
}

std::unique_ptr<RowReader> open_blis(LineReader lines, const ReaderOptions& options) {
  if (options.header) skip_yaml(lines);
  return std::make_unique<Rounds>(open_csv(std::move(lines), options.header, kLayout));
}

}  // namespace blockyard::workload
