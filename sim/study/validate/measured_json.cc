#include <fmt/format.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

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
    throw InputError(model::place_of_byte(text, fault.byte > 0 ? fault.byte - 1 : 0, path),
                     "not valid JSON from here on");
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
  BenchResult(const std::string& path, Diagnostics& errors) : place_{path}, errors_(&errors) {
    result_ = parse(path, read_whole(path));
    if (!result_.is_object()) fail("expected an object, the result of `vllm bench serve`");
    for (const char* key : {"start_times", "input_lens", "output_lens", "ttfts", "itls"}) array(key);
    if (!errors.empty()) return;
    size_ = result_["start_times"].size();
    for (const char* key : {"input_lens", "output_lens", "ttfts", "itls"}) {
      if (result_[key].size() != size_)
        fail(fmt::format("{} has {} entries, start_times {}", key, result_[key].size(), size_));
    }
  }

  [[nodiscard]] std::size_t size() const { return errors_->empty() ? size_ : 0; }
  [[nodiscard]] const json& at(const char* key, std::size_t i) const { return result_[key][i]; }
  [[nodiscard]] bool failed(std::size_t i) const {
    if (at("output_lens", i) == 0) return true;
    const auto list = result_.find("errors");
    if (list == result_.end() || !list->is_array() || i >= list->size()) return false;
    return (*list)[i].is_string() && !(*list)[i].get<std::string>().empty();
  }
  void wrong(const char* key, std::size_t i, const char* expected) {
    if (errors_->list().size() < kMostFaults)
      fail(fmt::format("{}[{}]: found {}, expected {}", key, i, at(key, i).dump().substr(0, 60), expected));
  }

 private:
  void array(const char* key) {
    if (!result_.is_object()) return;
    if (!result_.contains(key)) {
      fail(fmt::format("no {}: save the result with --save-result --save-detailed, of a version that writes it", key));
    } else if (!result_[key].is_array()) {
      fail(fmt::format("{} is no list", key));
    }
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
  for (std::size_t i = 0; i < size; ++i) {
    if (result.failed(i)) {
      ++run.failed;
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
    const auto seconds = [&](const char* key) -> std::optional<double> {
      const auto value = row.find(key);
      auto found = value == row.end() ? std::nullopt : seconds_of(*value, kLatestClock);
      if (!found) errors.add(lines.place(1), fmt::format("{}: expected seconds of the engine's clock", key));
      return found;
    };
    const auto tokens = [&](const char* key) -> std::int64_t {
      const auto value = row.find(key);
      const auto found = value == row.end() ? std::nullopt : tokens_of(*value);
      if (!found || *found == 0) errors.add(lines.place(1), fmt::format("{}: expected a number of tokens", key));
      return found.value_or(0);
    };
    MeasuredRequest r;
    r.prompt_tokens = Tokens(tokens("input_toks"));
    r.output_tokens = Tokens(tokens("output_toks"));
    const auto queued = seconds("queued_ts");
    const auto first = seconds("first_token_ts");
    const auto last = seconds("last_token_ts");
    if (!queued || !first || !last) continue;
    if (*first < *queued || *last < *first) {
      errors.add(lines.place(1), "expected queued_ts <= first_token_ts <= last_token_ts");
      continue;
    }
    r.arrival = to_time(*queued);
    r.ttft = to_time(*first - *queued);
    r.e2e = to_time(*last - *queued);
    run.requests.push_back(std::move(r));
  }
}

}  // namespace blockyard::study
