#include "sim/report/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "sim/base/diagnostics.h"
#include "sim/report/csv.h"

namespace blockyard::report {
namespace {

// A CSV as this program writes it: a header, no quotes.
class CsvFile {
 public:
  CsvFile(std::filesystem::path path, const char* remedy) : path_(std::move(path)), in_(path_, std::ios::binary) {
    if (!in_) throw InputError({path_.string()}, fmt::format("cannot be read: {}", remedy));
    if (!next()) throw InputError({path_.string()}, "is empty, expected the file of a run");
    for (const std::string_view name : fields_) header_.emplace_back(name);
  }

  [[nodiscard]] std::size_t column(const std::string& name) const {
    const auto at = std::find(header_.begin(), header_.end(), name);
    if (at == header_.end()) {
      throw InputError({path_.string(), 1, 1},
                       fmt::format("has no column \"{}\": expected what this version of `blockyard run --out` writes; "
                                   "run it again",
                                   name));
    }
    return static_cast<std::size_t>(at - header_.begin());
  }
  [[nodiscard]] bool has(const std::string& name) const {
    return std::find(header_.begin(), header_.end(), name) != header_.end();
  }

  bool next() {
    if (!std::getline(in_, text_)) return false;
    ++line_;
    fields_.clear();
    const std::string_view text = text_;
    for (std::size_t start = 0; start <= text.size();) {
      const std::size_t end = std::min(text.find(',', start), text.size());
      fields_.push_back(text.substr(start, end - start));
      start = end + 1;
    }
    if (line_ > 1 && fields_.size() != header_.size()) fail(0, fmt::format("{} fields", header_.size()));
    return true;
  }

  [[nodiscard]] std::string_view text(std::size_t column) const { return fields_[column]; }
  [[nodiscard]] std::optional<std::int64_t> integer(std::size_t column) const {
    const std::string_view field = fields_[column];
    if (field.empty()) return std::nullopt;
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    if (error != std::errc() || end != field.data() + field.size() || value < 0) fail(column, "a whole number");
    return value;
  }
  // "1.5" -> 1'500'000'000 ns, exactly.
  [[nodiscard]] std::optional<SimTime> time(std::size_t column) const {
    const std::string_view field = fields_[column];
    if (field.empty()) return std::nullopt;
    const std::size_t point = std::min(field.find('.'), field.size());
    std::string digits(field.substr(0, point));
    std::string fraction(field.substr(std::min(point + 1, field.size())));
    if (fraction.size() > 9) fail(column, "seconds with at most 9 decimals");
    fraction.resize(9, '0');
    digits += fraction;
    std::int64_t ns = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), ns);
    if (error != std::errc() || end != digits.data() + digits.size()) fail(column, "seconds");
    return SimTime(ns);
  }

  [[noreturn]] void fail(std::size_t column, const std::string& expected) const {
    int place = 1;
    for (std::size_t i = 0; i < std::min(column, fields_.size()); ++i) place += static_cast<int>(fields_[i].size()) + 1;
    throw InputError({path_.string(), line_, place},
                     fmt::format("expected {}, found \"{}\"", expected,
                                 column < fields_.size() ? fields_[column] : std::string_view(text_)));
  }

 private:
  std::filesystem::path path_;
  std::ifstream in_;
  std::string text_;
  int line_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string_view> fields_;
};

// There only of a run of several replicas.
std::optional<std::size_t> replica_column(const CsvFile& file) {
  if (!file.has("replica")) return std::nullopt;
  return file.column("replica");
}

std::vector<RequestRow> read_requests(const std::filesystem::path& path) {
  CsvFile file(path, "expected the folder that `blockyard run SCENARIO --out DIR` has written");
  const std::size_t request = file.column("request");
  const std::size_t arrival = file.column("arrival_s");
  const std::size_t prompt = file.column("prompt_tokens");
  const std::size_t output = file.column("output_tokens");
  const std::size_t outcome = file.column("outcome");
  const std::size_t reason = file.column("reason");
  const std::size_t admission = file.column("admission_s");
  const std::size_t ttft = file.column("ttft_s");
  const std::size_t e2e = file.column("e2e_s");
  const std::size_t preemptions = file.column("preemptions");
  const std::size_t stall = file.column("stall_s");
  const std::size_t recomputed = file.column("recomputed_tokens");
  std::array<std::size_t, metrics::kTimeBuckets> buckets{};
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    buckets[i] = file.column(std::string(metrics::kTimeBucketNames[i]) + "_s");
  }
  const std::optional<std::size_t> replica = replica_column(file);
  std::vector<RequestRow> rows;
  while (file.next()) {
    if (file.integer(request) != static_cast<std::int64_t>(rows.size())) {
      file.fail(request, fmt::format("request {}", rows.size()));
    }
    RequestRow& r = rows.emplace_back();
    r.arrival = file.time(arrival).value_or(SimTime(0));
    r.prompt_tokens = file.integer(prompt).value_or(0);
    r.output_tokens = file.integer(output);
    r.outcome = file.text(outcome);
    r.reason = file.text(reason);
    r.admission = file.time(admission);
    r.ttft = file.time(ttft);
    r.e2e = file.time(e2e);
    r.preemptions = file.integer(preemptions).value_or(0);
    r.stall = file.time(stall).value_or(SimTime(0));
    r.recomputed_tokens = file.integer(recomputed).value_or(0);
    if (replica) r.replica = file.integer(*replica).value_or(0);
    for (std::size_t i = 0; i < buckets.size(); ++i) {
      r.time.ns[i] = file.time(buckets[i]).value_or(SimTime(0)).count();
    }
  }
  return rows;
}

template <std::size_t N>
std::size_t index_in(const std::array<const char*, N>& names, const CsvFile& file, std::size_t column,
                     const char* what) {
  for (std::size_t i = 0; i < N; ++i) {
    if (file.text(column) == names[i]) return i;
  }
  file.fail(column, what);
}

// Both files tell when a request's last token came.
void check_same_run(const CsvFile& file, std::size_t column, const metrics::Event& event, const RequestRow& row) {
  if (event.kind != metrics::EventKind::finished) return;
  if (row.e2e && row.arrival + *row.e2e == event.time) return;
  file.fail(column, "the end that requests.csv tells (the two files are not of one run; run it again)");
}

std::vector<metrics::Event> read_events(const std::filesystem::path& path, const std::vector<RequestRow>& requests) {
  CsvFile file(path, "run the scenario again with `--out DIR` and `--set output.events=true`");
  const std::size_t time = file.column("t_s");
  const std::size_t kind = file.column("event");
  const std::size_t request = file.column("request");
  const std::size_t other = file.column("other");
  const std::size_t cause = file.column("cause");
  const std::optional<std::size_t> replica = replica_column(file);
  const auto id = [&](std::size_t column) {
    const std::optional<std::int64_t> number = file.integer(column);
    if (!number) return metrics::Event::nobody();
    if (static_cast<std::size_t>(*number) >= requests.size()) {
      file.fail(column, fmt::format("one of the {} requests of requests.csv", requests.size()));
    }
    return static_cast<metrics::RecordId>(*number);
  };
  std::vector<metrics::Event> events;
  while (file.next()) {
    metrics::Event e;
    e.time = file.time(time).value_or(SimTime(0));
    e.kind = static_cast<metrics::EventKind>(index_in(metrics::kEventKindNames, file, kind, "an event's name"));
    e.request = id(request);
    e.other = id(other);
    if (!file.text(cause).empty()) {
      e.cause = static_cast<QueueCause>(index_in(kQueueCauseNames, file, cause, "seat, token_budget or kv_memory"));
    }
    if (replica) e.replica = static_cast<std::uint16_t>(file.integer(*replica).value_or(0));
    if (e.request == metrics::Event::nobody() && e.kind != metrics::EventKind::head) file.fail(request, "a request");
    if (e.request != metrics::Event::nobody()) {
      check_same_run(file, time, e, requests[static_cast<std::size_t>(e.request)]);
    }
    events.push_back(e);
  }
  return events;
}

std::vector<PoolRow> read_pool(const std::filesystem::path& path) {
  std::vector<PoolRow> rows;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return rows;
  CsvFile file(path, "run the scenario again with `--out DIR`");
  const std::size_t time = file.column("t_s");
  std::array<std::size_t, kMemoryStates> states{};
  for (std::size_t i = 0; i < states.size(); ++i) {
    states[i] = file.column(std::string(kMemoryStateNames[i]) + "_bytes");
  }
  while (file.next()) {
    PoolRow& row = rows.emplace_back();
    row.at = file.time(time).value_or(SimTime(0));
    for (std::size_t i = 0; i < states.size(); ++i) row.bytes.slots[i] = file.integer(states[i]).value_or(0);
  }
  return rows;
}

}  // namespace

RunFiles read_run_files(const std::filesystem::path& dir) {
  std::error_code error;
  if (!std::filesystem::is_directory(dir, error)) {
    throw InputError({dir.string()},
                     "is no folder: expected the one that `blockyard run SCENARIO --out DIR` has written");
  }
  RunFiles files;
  files.requests = read_requests(dir / kRequestsFile);
  files.events = read_events(dir / kEventsFile, files.requests);
  const bool one_replica =
      std::ranges::all_of(files.requests, [](const RequestRow& request) { return request.replica == 0; });
  if (one_replica) files.pool = read_pool(dir / kTimeSeriesFile);
  return files;
}

}  // namespace blockyard::report
