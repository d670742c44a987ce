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

// The arrays of a result, all of one length.
class BenchResult {
 public:
  static constexpr std::array kLists{"start_times", "input_lens", "output_lens", "ttfts", "itls"};

  BenchResult(const std::string& path, Diagnostics& errors) : place_{path}, errors_(&errors) {
    result_ = parse(path, read_whole(path));
    if (!result_.is_object()) {
      fail("expected an object, the result of `vllm bench serve`");
      return;
    }
    check_lists();
    if (!errors.empty()) return;
    size_ = result_[kLists[0]].size();
    for (const char* key : kLists) {
      if (result_[key].size() != size_)
        fail(fmt::format("{} has {} entries, {} {}", key, result_[key].size(), kLists[0], size_));
    }
  }

  // Which of the lists by request are read, and which are not.
  void tell_lists(MeasuredFile& file) const {
    for (const auto& [key, value] : result_.items()) {
      if (!value.is_array() || value.size() != size_) continue;
      const bool read = key == "errors" || std::ranges::find(kLists, key, [](const char* k) {
                                             return std::string_view(k);
                                           }) != kLists.end();
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
  [[nodiscard]] std::size_t size() const { return errors_->empty() ? size_ : 0; }
  [[nodiscard]] const json& at(const char* key, std::size_t i) const { return result_[key][i]; }
  [[nodiscard]] bool failed(std::size_t i) const {
    const auto list = result_.find("errors");
    if (list == result_.end() || !list->is_array() || i >= list->size()) return false;
    return (*list)[i].is_string() && !(*list)[i].get<std::string>().empty();
  }
  void wrong(const char* key, std::size_t i, const char* expected) {
    if (errors_->list().size() < kMostFaults)
      fail(fmt::format("{}[{}]: found {}, expected {}", key, i, at(key, i).dump().substr(0, 60), expected));
  }

 private:
  void check_lists() {
    std::vector<std::string_view> missing;
    for (const char* key : kLists) {
      if (!result_.contains(key)) {
        missing.emplace_back(key);
      } else if (!result_[key].is_array()) {
        fail(fmt::format("{} is no list", key));
      }
    }
    if (missing.empty()) return;
    fail(fmt::format("no {}: {}", fmt::join(missing, ", "),
                     missing.size() == kLists.size()
                         ? "a result by request is saved by --save-result --save-detailed"
                         : "save the result with --save-result --save-detailed, of a version that writes these lists"));
  }
  void fail(std::string message) { errors_->add(place_, std::move(message)); }

  Place place_;
  Diagnostics* errors_;
  json result_;
  std::size_t size_ = 0;
};

// Gaps to the later tokens, their sum added to the first token's time.
bool add_gaps(const json& gaps, MeasuredRequest& r, std::vector<std::int64_t>& pooled) {
  if (!gaps.is_array()) return false;
  double sum = 0;
  for (const json& gap : gaps) {
    const auto seconds = seconds_of(gap);
    if (!seconds) return false;
    sum += *seconds;
    if (sum > kLongestSeconds) return false;
    pooled.push_back(to_time(*seconds).count());
  }
  r.e2e = *r.ttft + to_time(sum);
  return true;
}

}  // namespace

void read_vllm_bench(const std::string& path, MeasuredRun& run, Diagnostics& errors) {
  BenchResult result(path, errors);
  const std::size_t size = result.size();
  if (errors.empty()) {
    result.tell_lists(run.file);
    result.tell_client(run.file);
  }
  for (std::size_t i = 0; i < size; ++i) {
    if (result.failed(i)) {
      ++run.file.failed;
      continue;
    }
    if (result.at("output_lens", i) == 0) {
      ++run.file.without_output;
      continue;
    }
    const auto start = seconds_of(result.at("start_times", i), kLatestClock);
    const auto in = tokens_of(result.at("input_lens", i));
    const auto out = tokens_of(result.at("output_lens", i));
    const auto ttft = seconds_of(result.at("ttfts", i));
    if (!start) result.wrong("start_times", i, "seconds");
    if (!in || *in == 0) result.wrong("input_lens", i, "a number of tokens");
    if (!out) result.wrong("output_lens", i, "a number of tokens");
    if (!ttft) result.wrong("ttfts", i, "seconds");
    if (!start || !in || *in == 0 || !out || !ttft) continue;
    MeasuredRequest r;
    r.arrival = to_time(*start);
    r.prompt_tokens = Tokens(*in);
    r.output_tokens = Tokens(*out);
    r.ttft = to_time(*ttft);
    if (!add_gaps(result.at("itls", i), r, run.gaps_ns)) result.wrong("itls", i, "a list of seconds");
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
