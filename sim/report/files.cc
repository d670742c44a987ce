#include "sim/report/files.h"

#include <optional>
#include <string>
#include <system_error>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"
#include "sim/report/comparison_csv.h"
#include "sim/report/csv.h"
#include "sim/report/summary_json.h"

namespace blockyard::report {
namespace {

constexpr const char* kSummary = "summary.json";
constexpr const char* kComparison = "comparison.json";
constexpr const char* kComparisonTable = "comparison.csv";

void append(PendingFile& file, std::string_view text) { file.buffer().append(text.data(), text.data() + text.size()); }

void write_requests(PendingFile& file, const metrics::Collector& collector) {
  append(file, requests_header(collector.several_replicas()));
  for (std::size_t i = 0; i < collector.records().size(); ++i) {
    append_request(file.buffer(), collector, i);
    file.spill();
  }
  file.close();
}

void write_events(PendingFile& file, const metrics::EventLog& log, bool replicas) {
  append_event_header(file.buffer(), replicas);
  for (const metrics::Event& event : log.events()) {
    append_event(file.buffer(), event, replicas);
    file.spill();
  }
  file.close();
}

void write_time_series(PendingFile& file, const metrics::Collector& collector) {
  append_time_series_header(file.buffer());
  for (const metrics::TimeSeriesRow& row : collector.time_series()) {
    append_time_series_row(file.buffer(), row, collector.slot_bytes());
    file.spill();
  }
  file.close();
}

void write_json(PendingFile& file, const nlohmann::ordered_json& json) {
  append(file, json_text(json));
  file.close();
}

void remove_file(const std::filesystem::path& path) {
  std::error_code ignored;  // it is not there
  if (!std::filesystem::is_directory(path, ignored)) std::filesystem::remove(path, ignored);
}

void make_folder(const std::filesystem::path& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) throw InputError(Place{dir.string()}, fmt::format("cannot be made a folder: {}", error.message()));
}

}  // namespace

std::vector<std::filesystem::path> report_paths(const std::filesystem::path& dir) {
  return {dir / kSummary, dir / kRequestsFile, dir / kTimeSeriesFile, dir / kEventsFile, dir / MemoryCsv::kFileName};
}

std::vector<std::filesystem::path> comparison_paths(const std::filesystem::path& dir) {
  return {dir / kComparison, dir / kComparisonTable};
}

void write_reports(const std::filesystem::path& dir, const metrics::Summary& summary,
                   const metrics::Collector& collector, MemoryCsv* changes) {
  make_folder(dir);
  PendingFile requests(dir / kRequestsFile);
  PendingFile time_series(dir / kTimeSeriesFile);
  PendingFile whole(dir / kSummary);
  write_requests(requests, collector);
  write_time_series(time_series, collector);
  std::optional<PendingFile> events;
  if (const auto& log = collector.time().events())
    write_events(events.emplace(dir / kEventsFile), *log, collector.several_replicas());
  write_json(whole, summary_json(summary));
  if (events) {
    events->commit();
  } else {
    remove_file(dir / kEventsFile);
  }
  if (changes != nullptr) {
    changes->close();
    changes->commit();
  } else {
    remove_file(dir / MemoryCsv::kFileName);
  }
  requests.commit();
  time_series.commit();
  whole.commit();
}

void remove_reports(const std::filesystem::path& dir) {
  for (const std::filesystem::path& file : report_paths(dir)) remove_file(file);
  std::error_code ignored;  // others' files are in it, or it is not there
  if (std::filesystem::is_directory(dir, ignored)) std::filesystem::remove(dir, ignored);
}

void write_comparison(const std::filesystem::path& dir, const std::vector<Variant>& variants) {
  make_folder(dir);
  PendingFile table(dir / kComparisonTable);
  PendingFile whole(dir / kComparison);
  append(table, comparison_csv(variants));
  table.close();
  write_json(whole, comparison_json(variants));
  table.commit();
  whole.commit();
}

}  // namespace blockyard::report
