#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/model/hf_fields.h"
#include "sim/study/validate/measured_formats.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/line_reader.h"
#include "sim/workload/row_reader.h"

namespace blockyard::study {
namespace {

using nlohmann::json;

constexpr double kLatestClock = 4e9;     // seconds since 1970 are some 1.8e9: more is another unit
constexpr double kLongestSeconds = 1e9;  // of a duration; keeps sums of two below 64 bits of ns

std::string read_whole(const std::string& path) {
  const auto bytes = workload::open_bytes(path);
  std::string text;
  std::array<char, 1 << 16> some;
  while (const std::size_t count = bytes->read(some)) text.append(some.data(), count);
  return text;
}

json parse(const std::string& path, const std::string& text) {
  try {
    return json::parse(text);
  } catch (const json::parse_error& fault) {
    const std::size_t at = fault.byte > 0 ? fault.byte - 1 : 0;
    const bool another = at < text.size() && text[at] == '{' && json::accept(text.substr(0, at));
    throw InputError(model::place_of_byte(text, at, path),
                     another ? "another result begins here (--append-result): expected one in a file"
                             : "not valid JSON from here on");
  }
}

std::optional<double> seconds_of(const json& value, double most = kLongestSeconds) {
  if (!value.is_number()) return std::nullopt;
  const double seconds = value.get<double>();
  return seconds >= 0 && seconds <= most ? std::optional(seconds) : std::nullopt;
}

std::optional<std::int64_t> tokens_of(const json& value) {
  if (!value.is_number_integer()) return std::nullopt;
  const auto tokens = value.get<std::int64_t>();
  return tokens >= 0 && tokens <= workload::kLongestLength ? std::optional(tokens) : std::nullopt;
}

// A list of a result, and what its entries may be. What one says is as long as the others': an entry a request.
struct List {
  const char* name;
  const char* entries;
  bool (*right)(const json&);
};
bool is_gap_list(const json& value) {
  if (!value.is_array()) return false;
  double sum = 0;  // stays a duration too
  return std::ranges::all_of(value, [&](const json& gap) {
    const auto seconds = seconds_of(gap);
    sum += seconds.value_or(0);
    return seconds && sum <= kLongestSeconds;
  });
}
constexpr std::array<List, 6> kLists{{
    {"start_times", "seconds", [](const json& v) { return seconds_of(v, kLatestClock).has_value(); }},
    {"input_lens", "a number of tokens", [](const json& v) { return tokens_of(v).value_or(0) > 0; }},
    {"output_lens", "a number of tokens", [](const json& v) { return tokens_of(v).has_value(); }},
    {"ttfts", "seconds", [](const json& v) { return seconds_of(v).has_value(); }},
    {"itls", "a list of seconds", is_gap_list},
    {"errors", "a text, empty if there was none", [](const json& v) { return v.is_string() || v.is_null(); }},
}};
constexpr std::string_view kErrors = "errors";  // the one list that may be missing

std::string found(const json& value) {
  constexpr std::size_t kShown = 60;
  const std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= kShown ? text : text.substr(0, kShown) + "...";
}

// The lists of a result, all of one length, each entry of its kind.
class BenchResult {
 public:
  BenchResult(const std::string& path, Diagnostics& errors) : place_{path}, errors_(&errors) {
    result_ = parse(path, read_whole(path));
    if (!result_.is_object()) {
      fail("expected an object, the result of `vllm bench serve`");
      return;
    }
    find_lists();
    for (const List& list : kLists) check_entries(list);
  }

  // Which of the lists by request are read, and which are not.
  void tell_lists(MeasuredFile& file) const {
    for (const auto& [key, value] : result_.items()) {
      if (!value.is_array() || value.size() != size_) continue;
      const bool read = std::ranges::find(kLists, std::string_view(key), &List::name) != kLists.end();
      (read ? file.read : file.not_read).push_back(key);
    }
  }
  // What it says of the client that sent the requests.
  void tell_client(MeasuredFile& file) const {
    for (const char* key : {"model_id", "request_rate", "burstiness", "max_concurrency"}) {
      const auto value = result_.find(key);
      if (value == result_.end() || value->is_structured()) continue;
      const bool named = value->is_string();
      file.client.emplace_back(key, named ? value->get<std::string>() : value->is_null() ? "none" : value->dump());
    }
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] const json& at(const char* key, std::size_t i) const { return result_[key][i]; }
  // What stands for these in the other lists says nothing.
  [[nodiscard]] bool failed(std::size_t i) const {
    const json* const error = entry("errors", i);
    return error != nullptr && error->is_string() && !error->get_ref<const std::string&>().empty();
  }
  [[nodiscard]] bool without_output(std::size_t i) const {
    const json* const tokens = entry("output_lens", i);
    return tokens != nullptr && *tokens == 0;
  }

 private:
  // Every list that is missing, is no list or has another length than the first.
  void find_lists() {
    std::vector<std::string_view> missing;
    const char* first = nullptr;
    for (const List& list : kLists) {
      const auto value = result_.find(list.name);
      if (value == result_.end()) {
        if (list.name == kErrors) continue;
        missing.emplace_back(list.name);
      } else if (!value->is_array()) {
        fail(fmt::format("{}: found {}, expected a list, an entry a request", list.name, found(*value)));
      } else if (first == nullptr) {
        first = list.name;
        size_ = value->size();
      } else if (value->size() != size_) {
        fail(fmt::format("{} has {} entries, {} {}", list.name, value->size(), first, size_));
      }
    }
    if (missing.empty()) return;
    fail(fmt::format("no {}: {}", fmt::join(missing, ", "),
                     missing.size() == kLists.size() - 1
                         ? "a result by request is saved by --save-result --save-detailed"
                         : "save the result with --save-result --save-detailed, of a version that writes these lists"));
  }
  // The first few of each list, so that one does not hide what is wrong with the next.
  void check_entries(const List& list) {
    constexpr std::size_t kTold = 3;
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const json* const value = entry(list.name, i);
      if (value == nullptr) return;
      if (list.right(*value)) continue;
      if (list.name != kErrors && (failed(i) || without_output(i))) continue;
      if (++wrong <= kTold)
        fail(fmt::format("{}[{}]: found {}, expected {}", list.name, i, found(*value), list.entries));
    }
    if (wrong > kTold) fail(fmt::format("{}: {} more entries like these", list.name, wrong - kTold));
  }
  // None of a list that is missing or that find_lists() tells of.
  [[nodiscard]] const json* entry(const char* name, std::size_t i) const {
    const auto list = result_.find(name);
    return list != result_.end() && list->is_array() && list->size() == size_ ? &(*list)[i] : nullptr;
  }
  void fail(std::string message) { errors_->add(place_, std::move(message)); }

  Place place_;
  Diagnostics* errors_;
  json result_;
  std::size_t size_ = 0;
};

// The last token's time from the gaps between the chunks that came. Tokens may come together, in fewer chunks, and a
// chunk may hold none; but no gap at all between several tokens is not measured.
void add_gaps(const json& gaps, MeasuredRequest& r, MeasuredRun& run) {
  const auto expected = static_cast<std::size_t>(r.output_tokens.count() - 1);
  if (gaps.empty() && expected > 0) {
    ++run.file.without_gaps;
    return;
  }
  if (gaps.size() < expected) ++run.file.fewer_gaps;
  if (gaps.size() > expected) ++run.file.more_gaps;
  double sum = 0;
  for (const json& gap : gaps) {
    sum += gap.get<double>();
    run.gaps_ns.push_back(to_time(gap.get<double>()).count());
  }
  r.e2e = *r.ttft + to_time(sum);
}

}  // namespace

void read_vllm_bench(const std::string& path, MeasuredRun& run, Diagnostics& errors) {
  const BenchResult result(path, errors);
  if (!errors.empty()) return;
  result.tell_lists(run.file);
  result.tell_client(run.file);
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (result.failed(i)) {
      ++run.file.failed;
      continue;
    }
    if (result.without_output(i)) {
      ++run.file.without_output;
      continue;
    }
    MeasuredRequest r;
    r.arrival = to_time(result.at("start_times", i).get<double>());
    r.prompt_tokens = Tokens(result.at("input_lens", i).get<std::int64_t>());
    r.output_tokens = Tokens(result.at("output_lens", i).get<std::int64_t>());
    r.ttft = to_time(result.at("ttfts", i).get<double>());
    add_gaps(result.at("itls", i), r, run);
    run.requests.push_back(std::move(r));
  }
}

namespace {

constexpr std::array kLogKeys{"input_toks", "output_toks", "queued_ts", "first_token_ts", "last_token_ts"};

bool is_null(const json& row, const char* key) {
  const auto value = row.find(key);
  return value != row.end() && value->is_null();
}

bool log_row_failed(const json& row) {
  const auto error = row.find("error");
  if (error != row.end() && !error->is_null() && *error != "" && *error != false) return true;
  return is_null(row, "first_token_ts") || is_null(row, "last_token_ts");
}

void tell_log_keys(const json& row, MeasuredFile& file) {
  for (const auto& [key, value] : row.items()) {
    const bool read = key == "error" || std::ranges::find(kLogKeys, std::string_view(key)) != kLogKeys.end();
    (read ? file.read : file.not_read).push_back(key);
  }
}

// None if it is malformed.
std::optional<MeasuredRequest> request_of_log_row(const json& row, const Place& place, Diagnostics& errors) {
  const auto seconds = [&](const char* key) -> std::optional<double> {
    const auto value = row.find(key);
    auto found = value == row.end() ? std::nullopt : seconds_of(*value, kLatestClock);
    if (!found) errors.add(place, fmt::format("{}: expected seconds of the engine's clock", key));
    return found;
  };
  const auto tokens = [&](const char* key) -> std::int64_t {
    const auto value = row.find(key);
    const auto found = value == row.end() ? std::nullopt : tokens_of(*value);
    if (!found || *found == 0) errors.add(place, fmt::format("{}: expected a number of tokens", key));
    return found.value_or(0);
  };
  MeasuredRequest r;
  r.prompt_tokens = Tokens(tokens("input_toks"));
  r.output_tokens = Tokens(tokens("output_toks"));
  const auto queued = seconds("queued_ts");
  const auto first = seconds("first_token_ts");
  const auto last = seconds("last_token_ts");
  if (!queued || !first || !last) return std::nullopt;
  if (*first < *queued || *last < *first) {
    errors.add(place, "expected queued_ts <= first_token_ts <= last_token_ts");
    return std::nullopt;
  }
  r.arrival = to_time(*queued);
  r.ttft = to_time(*first - *queued);
  r.e2e = to_time(*last - *queued);
  return r;
}

}  // namespace

void read_llmservingsim(const std::string& path, MeasuredRun& run, Diagnostics& errors) {
  workload::LineReader lines(path, workload::open_bytes(path));
  std::string_view line;
  while (errors.list().size() < kMostFaults && lines.next(line)) {
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    const json row = json::parse(line, nullptr, false);
    if (!row.is_object()) {
      errors.add(lines.place(1), "not a JSON object");
      continue;
    }
    if (run.file.read.empty()) tell_log_keys(row, run.file);
    if (log_row_failed(row)) {
      ++run.file.failed;
    } else if (const auto tokens = row.find("output_toks"); tokens != row.end() && *tokens == 0) {
      ++run.file.without_output;
    } else if (auto served = request_of_log_row(row, lines.place(1), errors)) {
      run.requests.push_back(std::move(*served));
    }
  }
}

}  // namespace blockyard::study
