#include "sim/workload/servegen_client.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "sim/base/stable_order.h"
#include "sim/workload/csv_fields.h"
#include "sim/workload/json_fields.h"
#include "sim/workload/numbers.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {
namespace {

constexpr int kSeconds = 9;
constexpr std::size_t kFields = 6;
constexpr Seconds kLongestGap = 1e9;  // longer than any window
constexpr std::string_view kEnding = "-trace.csv";
constexpr SimTime kWindow(600 * kNanosecondsPerSecond);  // of the published files; the last one's length is not written
constexpr SimTime kLatestStart(100LL * 365 * 86'400 * kNanosecondsPerSecond);
constexpr std::size_t kLargestDataset = std::size_t{256} << 20;
constexpr std::size_t kMostWindows = 1'000'000;
constexpr std::size_t kFaultsShown = 20;

std::optional<double> real(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::array<std::string_view, kFields>> split(std::string_view line) {
  std::array<std::string_view, kFields> fields;
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t i = 0; i < kFields; ++i) {
    if (i > 0) {
      if (at == end || *at != ',') return std::nullopt;
      ++at;
    }
    if (take_field(at, end, fields[i]) != nullptr) return std::nullopt;
  }
  if (at != end) return std::nullopt;
  return fields;
}

std::optional<ServeGenWindow::Pattern> pattern_of(std::string_view name) {
  if (name.empty()) return ServeGenWindow::Pattern::idle;
  if (name == "Gamma") return ServeGenWindow::Pattern::gamma;
  if (name == "Weibull") return ServeGenWindow::Pattern::weibull;
  return std::nullopt;
}

std::string read_whole(const std::string& file) {
  const auto bytes = open_bytes(file);
  std::string text;
  std::size_t size = 0;
  for (;;) {
    text.resize(size + (std::size_t{1} << 18));
    std::size_t count = 0;
    try {
      count = bytes->read(std::span(text).subspan(size));
    } catch (const BrokenInput& broken) {
      throw InputError({file}, broken.what());
    }
    size += count;
    if (size > kLargestDataset) throw InputError({file}, fmt::format("is larger than {} bytes", kLargestDataset));
    if (count == 0) break;
  }
  text.resize(size);
  return text;
}

Place place_in(std::string_view text, const char* at, const std::string& file) {
  if (at == nullptr) return {file};
  const std::string_view before = text.substr(0, static_cast<std::size_t>(at - text.data()));
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? before.size() : before.size() - newline - 1;
  return {file, 1 + static_cast<int>(std::count(before.begin(), before.end(), '\n')), static_cast<int>(column) + 1};
}

std::string lengths_file_of(const std::string& file) {
  if (!file.ends_with(kEnding)) {
    throw InputError({file}, fmt::format("a ServeGen client is named <chunk>{}, beside <chunk>-dataset.json", kEnding));
  }
  return file.substr(0, file.size() - kEnding.size()) + "-dataset.json";
}

std::vector<ServeGenWindow> read_windows(LineReader& lines, Diagnostics& errors) {
  std::vector<ServeGenWindow> windows;
  std::string_view line;
  while (lines.next(line) && errors.list().size() < kFaultsShown) {
    if (trimmed(line).empty()) continue;
    if (windows.size() == kMostWindows) {
      errors.add(lines.place(1), fmt::format("more than {} windows", kMostWindows));
      break;
    }
    try {
      ServeGenWindow window = parse_servegen_window(line, lines.place(1));
      window.line = lines.line_number();
      if (!windows.empty() && window.start <= windows.back().start) {
        errors.add(lines.place(1), "the window begins no later than the one before it");
      }
      windows.push_back(window);
    } catch (const InputError& error) {
      errors.add_all(error);
    }
  }
  return windows;
}

}  // namespace

// As arrivals/renewal.cc does.
SimTime ServeGenWindow::draw_first(RandomStream& stream, double rate_scale) const {
  const Seconds wide = pattern == Pattern::gamma ? stream.gamma(shape + 1, scale_s)
                                                 : scale_s * std::pow(stream.gamma(1 + 1 / shape, 1), 1 / shape);
  return to_time(std::min(stream.uniform() * wide / rate_scale, kLongestGap));
}

SimTime ServeGenWindow::draw_gap(RandomStream& stream, double rate_scale) const {
  const Seconds gap = pattern == Pattern::gamma ? stream.gamma(shape, scale_s)
                                                : scale_s * std::pow(-std::log1p(-stream.uniform()), 1 / shape);
  return to_time(std::min(gap / rate_scale, kLongestGap));
}

ServeGenRequests::ServeGenRequests(ServeGenClient client, std::uint64_t seed, double rate_scale)
    : client_(std::move(client)),
      rate_scale_(rate_scale),
      gaps_(seed, "servegen gaps"),
      prompts_(seed, "servegen prompts"),
      outputs_(seed, "servegen outputs") {}

std::optional<ServeGenRequests::Drawn> ServeGenRequests::next() {
  while (!within_ || time_ >= end_) {
    if (!begin_window()) return std::nullopt;
  }
  const std::vector<ServeGenLengths>& lengths = client_.lengths;
  while (table_ + 1 < lengths.size() && lengths[table_ + 1].start <= time_) ++table_;
  Drawn drawn{time_, lengths[table_].prompt.draw(prompts_), lengths[table_].output.draw(outputs_), window().line};
  time_ += window().draw_gap(gaps_, rate_scale_);
  return drawn;
}

bool ServeGenRequests::begin_window() {
  const std::vector<ServeGenWindow>& windows = client_.windows;
  while (next_ < windows.size() && windows[next_].pattern == ServeGenWindow::Pattern::idle) ++next_;
  within_ = next_ < windows.size();
  if (!within_) return false;
  ++next_;
  end_ = next_ < windows.size() ? windows[next_].start : window().start + kWindow;
  time_ = window().start + window().draw_first(gaps_, rate_scale_);
  return true;
}

LengthTable LengthTable::parse(std::string_view text, const Place& place) {
  const auto fail = [&](std::string_view found) {
    throw InputError(place, fmt::format("found {}, expected {{length: probability, ...}}", quoted(found)));
  };
  text = trimmed(text);
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') fail(text);
  text = trimmed(text.substr(1, text.size() - 2));
  LengthTable table;
  double sum = 0;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view pair = trimmed(text.substr(0, comma));
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (pair.empty()) continue;
    const std::size_t colon = std::min(pair.find(':'), pair.size());
    const Decimal length = parse_decimal(trimmed(pair.substr(0, colon)), 0);
    const auto probability = real(colon < pair.size() ? trimmed(pair.substr(colon + 1)) : "");
    if (length.fault != nullptr || !length.exact || length.value < 0 || length.value > kLongestLength || !probability ||
        *probability < 0) {
      fail(pair);
    }
    sum += *probability;
    table.entries_.push_back({length.value, sum});
  }
  if (!table.empty() && !(sum > 0)) fail("probabilities of 0");
  for (Entry& entry : table.entries_) entry.up_to /= sum;
  return table;
}

std::int64_t LengthTable::draw(RandomStream& stream) const {
  const double u = stream.uniform();
  const auto found = std::ranges::upper_bound(entries_, u, {}, [](const Entry& entry) { return entry.up_to; });
  return found == entries_.end() ? entries_.back().length : found->length;
}

bool is_servegen_window(std::string_view line) {
  const auto fields = split(line);
  if (!fields || !pattern_of((*fields)[3])) return false;
  return std::ranges::all_of(
      *fields, [&](const std::string_view& field) { return &field == &(*fields)[3] || real(field).has_value(); });
}

ServeGenWindow parse_servegen_window(std::string_view line, const Place& place) {
  if (!is_servegen_window(line)) {
    throw InputError(place, fmt::format("found {}, expected start, rate, CV, Gamma, Weibull or nothing, shape, scale",
                                        quoted(line)));
  }
  const auto fields = *split(line);
  ServeGenWindow window;
  const Decimal start = parse_decimal(fields[0], kSeconds);
  window.start = SimTime(start.value);
  window.rate_per_s = *real(fields[1]);
  window.cv = *real(fields[2]);
  window.pattern = *pattern_of(fields[3]);
  window.shape = *real(fields[4]);
  window.scale_s = *real(fields[5]);
  if (start.fault != nullptr || start.value < 0 || window.start > kLatestStart || window.rate_per_s < 0) {
    throw InputError(place, fmt::format("found {}, expected a start within 100 years and a rate that is not negative",
                                        quoted(line)));
  }
  if (window.rate_per_s == 0) window.pattern = ServeGenWindow::Pattern::idle;
  if (window.pattern == ServeGenWindow::Pattern::idle) return window;
  constexpr double kLeastShape = 0.05;
  constexpr double kMostPerSecond = 1e6;
  constexpr double kTolerance = 0.01;
  const double mean = window.pattern == ServeGenWindow::Pattern::gamma
                          ? window.shape * window.scale_s
                          : window.scale_s * std::tgamma(1 + 1 / window.shape);
  if (!(window.shape >= kLeastShape) || !(window.rate_per_s <= kMostPerSecond)) {
    throw InputError(place,
                     fmt::format("found {}, expected a shape of {} or more and a rate of {:.0f} a second or less",
                                 quoted(line), kLeastShape, kMostPerSecond));
  }
  if (!(std::abs(mean * window.rate_per_s - 1) <= kTolerance)) {
    throw InputError(place, fmt::format("found {}: shape and scale give gaps of {:.6g} s, the rate {:.6g} s",
                                        quoted(line), mean, 1 / window.rate_per_s));
  }
  return window;
}

std::vector<ServeGenLengths> read_servegen_lengths(const std::string& file) {
  std::string text = read_whole(file);
  text.reserve(text.size() + LineReader::kPadding);
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object object;
  std::vector<ServeGenLengths> all;
  Diagnostics errors;
  try {
    if (auto error = parser.iterate(text).get(document)) broken_json(error, nullptr);
    if (auto error = document.get_object().get(object)) broken_json(error, nullptr);
    for_each_field(object, [&](const JsonField& window) {
      ServeGenLengths lengths;
      const Decimal start = parse_decimal(window.key, kSeconds);
      if (start.fault != nullptr || start.value < 0) {
        throw JsonFault{window.at,
                        fmt::format("found {}, expected the start of a window in seconds", quoted(window.key))};
      }
      lengths.start = SimTime(start.value);
      simdjson::ondemand::object tables = object_of(window);
      for_each_field(tables, [&](const JsonField& field) {
        if (field.key != "input_tokens" && field.key != "output_tokens") return;
        try {
          (field.key == "input_tokens" ? lengths.prompt : lengths.output) = LengthTable::parse(string_of(field), {});
        } catch (const InputError& error) {
          if (errors.list().size() == kFaultsShown) return;
          errors.add(place_in(text, field.at, file), error.diagnostics().front().message);
        }
      });
      if (!lengths.prompt.empty() && !lengths.output.empty()) all.push_back(std::move(lengths));
    });
  } catch (const JsonFault& fault) {
    errors.add(place_in(text, fault.at, file), fault.message);
  }
  errors.throw_if_any();
  sort_keeping_ties(all, [](const ServeGenLengths& lengths) { return lengths.start; });
  if (all.empty()) throw InputError({file}, "has no lengths");
  return all;
}

ServeGenClient read_servegen_client(LineReader lines) {
  const std::string lengths_file = lengths_file_of(lines.file());
  Diagnostics errors;
  ServeGenClient client;
  client.windows = read_windows(lines, errors);
  try {
    client.lengths = read_servegen_lengths(lengths_file);
  } catch (const InputError& error) {
    errors.add_all(error);
  }
  errors.throw_if_any();
  return client;
}

double mean_rate_per_s(const ServeGenClient& client) {
  const std::vector<ServeGenWindow>& windows = client.windows;
  if (windows.empty()) return 0;
  double requests = 0;
  for (std::size_t i = 0; i < windows.size(); ++i) {
    const SimTime end = i + 1 < windows.size() ? windows[i + 1].start : windows[i].start + kWindow;
    if (windows[i].pattern == ServeGenWindow::Pattern::idle) continue;
    requests += windows[i].rate_per_s * to_seconds(end - windows[i].start);
  }
  return requests / to_seconds(windows.back().start + kWindow - windows.front().start);
}

std::vector<std::string> servegen_files(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path.string()};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(kEnding)) files.push_back(std::move(name));
  }
  if (files.empty()) throw InputError({path.string()}, fmt::format("a folder without any <chunk>{}", kEnding));
  // chunk-5 before chunk-38: of names as long, by letters.
  std::ranges::sort(files, [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  for (std::string& name : files) name = (path / name).string();
  return files;
}

}  // namespace blockyard::workload
