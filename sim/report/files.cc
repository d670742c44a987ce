#include "sim/report/files.h"

#include <optional>
#include <string>
#include <system_error>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"
#include "sim/report/csv.h"
#include "sim/report/summary_json.h"

namespace blockyard::report {
namespace {

void append(PendingFile& file, std::string_view text) { file.buffer().append(text.data(), text.data() + text.size()); }

void write_requests(PendingFile& file, const metrics::Collector& collector) {
  append(file, requests_header());
  const std::vector<metrics::RequestRecord>& records = collector.records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    append_request(file.buffer(), static_cast<std::int64_t>(i), records[i], collector.time().row(i));
    file.spill();
  }
  file.close();
}

void write_events(PendingFile& file, const metrics::EventLog& log) {
  append_event_header(file.buffer());
  for (const metrics::Event& event : log.events()) {
    append_event(file.buffer(), event);
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

void make_folder(const std::filesystem::path& dir) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) throw InputError(Place{dir.string()}, fmt::format("cannot be made a folder: {}", error.message()));
}

void remove_old(const std::filesystem::path& file) {
  std::error_code error;
  std::filesystem::remove(file, error);
}

}  // namespace

void write_reports(const std::filesystem::path& dir, const metrics::Summary& summary,
                   const metrics::Collector& collector) {
  make_folder(dir);
  PendingFile requests(dir / "requests.csv");
  PendingFile time_series(dir / "timeseries.csv");
  PendingFile whole(dir / "summary.json");
  write_requests(requests, collector);
  write_time_series(time_series, collector);
  std::optional<PendingFile> events;
  if (const auto& log = collector.time().events()) write_events(events.emplace(dir / "events.csv"), *log);
  write_json(whole, summary_json(summary));
  if (events) {
    events->commit();
  } else {
    remove_old(dir / "events.csv");  // of a run before, whose requests are others
  }
  requests.commit();
  time_series.commit();
  whole.commit();
}

void write_comparison(const std::filesystem::path& dir, const std::vector<Variant>& variants) {
  make_folder(dir);
  PendingFile file(dir / "comparison.json");
  write_json(file, comparison_json(variants));
  file.commit();
}

}  // namespace blockyard::report
