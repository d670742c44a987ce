// Scenarios as texts, run as the program runs them, and what came out: figures, and the bytes of the files.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/report/csv.h"
#include "sim/report/summary_json.h"
#include "sim/scenario/load.h"
#include "sim/serving/assemble.h"
#include "sim/serving/names.h"
#include "sim/serving/run.h"

namespace blockyard::serving_tests {

using Sets = std::vector<std::string>;

inline std::filesystem::path source_folder() { return BLOCKYARD_SOURCE_DIR; }
inline std::filesystem::path config_folder() { return source_folder() / "configs"; }
inline std::filesystem::path data_folder() { return BLOCKYARD_DATA_DIR; }

inline const scenario::Schema& schema() {
  static const scenario::Schema schema = serving::scenario_schema(config_folder());
  return schema;
}

inline scenario::Document parsed(const std::string& yaml, const Sets& sets = {}) {
  return scenario::parse(yaml, "test.yaml", schema(), sets);
}

// `sets` as --set gives them.
inline serving::RunResult run(const std::string& yaml, const Sets& sets = {}, const serving::RunControl& control = {}) {
  return serving::run(parsed(yaml, sets), config_folder(), control);
}

// The requests of a scenario and the limit under which they are served.
struct Workload {
  std::vector<workload::Request> requests;
  Tokens longest_prompt;  // that the engine takes
};

inline Workload workload_of(const scenario::Document& scenario) {
  const serving::Assembly assembly = serving::assemble(scenario, config_folder());
  Workload workload{{}, assembly.admission.longest_prompt};
  std::array<workload::Request, 256> buffer;
  while (const std::size_t n = assembly.requests->read(buffer)) {
    workload.requests.insert(workload.requests.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(n));
  }
  return workload;
}

// The files of `--out`.
struct Files {
  std::string summary;
  std::string requests;
  std::string time_series;
  std::string events;
  bool operator==(const Files&) const = default;
};

inline std::string requests_csv(const metrics::Collector& collector) {
  fmt::memory_buffer out;
  for (std::size_t i = 0; i < collector.records().size(); ++i) {
    report::append_request(out, collector, i);
  }
  return report::requests_header(collector.several_replicas()) + fmt::to_string(out);
}

inline Files files_of(const serving::RunResult& result) {
  fmt::memory_buffer series;
  report::append_time_series_header(series);
  for (const metrics::TimeSeriesRow& row : result.collector.time_series()) {
    report::append_time_series_row(series, row, result.collector.slot_bytes());
  }
  fmt::memory_buffer events;
  if (const auto& log = result.collector.time().events()) {
    for (const metrics::Event& event : log->events())
      report::append_event(events, event, result.collector.several_replicas());
  }
  return {report::json_text(report::summary_json(result.summary)), requests_csv(result.collector),
          fmt::to_string(series), fmt::to_string(events)};
}

// What a row of a trace says; `rest` is appended as it stands (", " and columns beyond the lengths).
struct Row {
  SimTime arrival;
  std::int64_t prompt = 0;
  std::int64_t output = 0;
  std::string rest;
};

// A trace in Blockyard's own CSV, in a file of its own that goes with the object.
class TraceFile {
 public:
  explicit TraceFile(const std::vector<Row>& rows, const std::string& more_columns = "") {
    static int files = 0;
    path_ = std::filesystem::temp_directory_path() / fmt::format("blockyard-trace-{}-{}.csv", ::getpid(), files++);
    fmt::memory_buffer out;
    fmt::format_to(fmt::appender(out), "arrival_s,prompt_tokens,output_tokens{}\n", more_columns);
    for (const Row& row : rows) {
      report::append_seconds(out, row.arrival);
      fmt::format_to(fmt::appender(out), ",{},{}{}\n", row.prompt, row.output, row.rest);
    }
    std::ofstream(path_, std::ios::binary) << fmt::to_string(out);
  }
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;
  ~TraceFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

inline constexpr SimTime milliseconds(std::int64_t n) { return SimTime(n * 1'000'000); }

// Small engines with steps of 10 ms, of which a test says by `sets` only what matters to it.
inline std::string small_engine(const TraceFile& trace) {
  return fmt::format(
      "name: test\n"
      "model: llama-3-8b\n"
      "hardware: {{gpu: a100-80gb-sxm}}\n"
      "workload: {{trace: {{file: {}}}}}\n"
      "cost: {{model: fixed, step: 10 ms}}\n"
      "output: {{timeseries_interval: 5 ms}}\n",
      trace.path());
}

inline const metrics::MemoryShare& share(const metrics::Summary& summary, MemoryState state) {
  return summary.memory[static_cast<std::size_t>(state)];
}

}  // namespace blockyard::serving_tests
