#include "sim/report/files.h"

#include <string>
#include <system_error>

#include "sim/base/diagnostics.h"
#include "sim/report/csv.h"
#include "sim/report/pending_file.h"
#include "sim/report/summary_json.h"

namespace blockyard::report {
namespace {

void append(PendingFile& file, std::string_view text) { file.buffer().append(text.data(), text.data() + text.size()); }

void write_requests(PendingFile& file, const metrics::Collector& collector) {
  append(file, kRequestsHeader);
  std::int64_t request = 0;
  for (const metrics::RequestRecord& record : collector.records()) {
    append_request(file.buffer(), request++, record);
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

void write_summary(PendingFile& file, const metrics::Summary& summary) {
  append(file, json_text(summary_json(summary)));
  file.close();
}

}  // namespace

void write_reports(const std::filesystem::path& dir, const metrics::Summary& summary,
                   const metrics::Collector& collector) {
  std::error_code error;
  std::filesystem::create_directories(dir, error);
  if (error) throw InputError(Place{dir.string()}, fmt::format("cannot be made a folder: {}", error.message()));
  PendingFile requests(dir / "requests.csv");
  PendingFile time_series(dir / "timeseries.csv");
  PendingFile whole(dir / "summary.json");
  write_requests(requests, collector);
  write_time_series(time_series, collector);
  write_summary(whole, summary);
  requests.commit();
  time_series.commit();
  whole.commit();
}

}  // namespace blockyard::report
