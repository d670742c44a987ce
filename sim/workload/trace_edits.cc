#include "sim/workload/trace_edits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/csv_fields.h"
#include "sim/workload/numbers.h"
#include "sim/workload/rate_scale.h"

namespace blockyard::workload {
namespace {

constexpr SimTime kDay(86'400 * kNanosecondsPerSecond);
constexpr int kSeconds = 9;

// hh:mm or hh:mm:ss with a fraction; hours have no bound.
std::optional<SimTime> parse_clock(std::string_view text) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t colon = std::min(text.find(':', from), text.size());
    parts.push_back(text.substr(from, colon - from));
    from = colon + 1;
  }
  if (parts.size() < 2 || parts.size() > 3) return std::nullopt;
  constexpr std::array<std::int64_t, 3> kUnit{3600, 60, 1};
  constexpr std::int64_t kMostHours = 1'000'000;
  std::int64_t ns = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].empty() || parts[i][0] < '0' || parts[i][0] > '9') return std::nullopt;
    const Decimal part = parse_decimal(parts[i], i == 2 ? kSeconds : 0);
    const std::int64_t below = i == 0 ? kMostHours : i == 1 ? 60 : 60 * kNanosecondsPerSecond;
    if (part.fault != nullptr || !part.exact || part.value >= below) return std::nullopt;
    ns += part.value * kUnit[i] * (i == 2 ? 1 : kNanosecondsPerSecond);
  }
  return SimTime(ns);
}

Moment parse_moment(std::string_view text) {
  if (text.size() > 10 && text[4] == '-') {
    const DateTime time = parse_date_time(text.find_first_of("Tt ") != std::string_view::npos &&
                                                  std::count(text.begin(), text.end(), ':') == 1
                                              ? std::string(text) + ":00"
                                              : std::string(text));
    if (time.fault == nullptr) return {Moment::From::epoch, SimTime(time.ns)};
  } else if (const auto clock = parse_clock(text)) {
    return {Moment::From::midnight, *clock};
  } else {
    const std::string_view number = text.ends_with('s') ? trimmed(text.substr(0, text.size() - 1)) : text;
    const Decimal seconds = parse_decimal(number, kSeconds);
    if (seconds.fault == nullptr && seconds.value >= 0) return {Moment::From::first_request, SimTime(seconds.value)};
  }
  throw InputError({}, fmt::format("--window: found {}, expected seconds from the first request (600 s), a time of day "
                                   "(10:00, 10:00:30) or a date and time (2023-11-16T18:30)",
                                   quoted(text)));
}

}  // namespace

SimTime Moment::after_first(SimTime origin) const {
  if (from == From::first_request) return time;
  if (from == From::epoch) return time - origin;
  return time - SimTime(origin.count() % kDay.count());
}

Window parse_window(std::string_view text) {
  const std::size_t dots = text.find("..");
  if (dots == std::string_view::npos) {
    throw InputError({}, fmt::format("--window: found {}, expected FROM..TO, as in 10:00..11:00", quoted(text)));
  }
  Window window;
  const std::string_view from = trimmed(text.substr(0, dots));
  const std::string_view to = trimmed(text.substr(dots + 2));
  if (!from.empty()) window.from = parse_moment(from);
  if (!to.empty()) window.to = parse_moment(to);
  if (window.from && window.to && window.from->from == window.to->from && window.from->time >= window.to->time) {
    throw InputError({}, fmt::format("--window: found {}, which ends before it begins", quoted(text)));
  }
  return window;
}

EditedTrace::EditedTrace(std::unique_ptr<RequestSource> source, const ReadReport& read, const TraceEdits& edits,
                         TraceSample* sample, ContentStore* contents)
    : source_(std::move(source)), read_(read), edits_(edits), sample_(sample), contents_(contents) {}

std::size_t EditedTrace::read(std::span<Request> out) {
  for (;;) {
    const bool enough = edits_.first && in_window_count_ >= *edits_.first;
    const std::size_t count = enough ? 0 : source_->read(out);
    if (count == 0) return 0;
    seen_until_ = out[count - 1].arrival;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < count; ++i) {
      Request request = out[i];
      if (keeps(request)) {
        place(request);
        out[kept++] = request;
      } else if (contents_ != nullptr && request.content != ContentId::none) {
        contents_->drop(request.content);
      }
    }
    if (kept > 0) return kept;
  }
}

bool EditedTrace::in_window(const Request& request) const {
  if (edits_.window.from && request.arrival < edits_.window.from->after_first(read_.origin)) return false;
  return !edits_.window.to || request.arrival < edits_.window.to->after_first(read_.origin);
}

bool EditedTrace::keeps(Request& request) {
  if (!in_window(request)) {
    ++report_.outside_window;
    return false;
  }
  if (++in_window_count_; edits_.first && in_window_count_ > *edits_.first) return false;
  if (!fits(request)) return false;
  if (sample_ == nullptr) return true;
  static const ContentStore none;
  if (sample_->keeps(request, contents_ == nullptr ? none : *contents_)) return true;
  ++report_.not_sampled;
  return false;
}

// The engine's rule: room for the prompt and one token, and for what is generated. A cut prompt leaves room for one.
bool EditedTrace::fits(Request& request) {
  const Tokens limit = edits_.max_model_len;
  if (limit == Tokens(0) || request.prompt_tokens + request.output_tokens <= limit) return true;
  ++report_.over_limit;
  if (!edits_.clip) return false;
  request.prompt_tokens = std::min(request.prompt_tokens, limit - Tokens(1));
  request.output_tokens = std::min(request.output_tokens, limit - request.prompt_tokens);
  request.max_tokens = std::min(request.max_tokens, limit - request.prompt_tokens);
  request.prefix_tokens =
      static_cast<std::int32_t>(std::min<std::int64_t>(request.prefix_tokens, request.prompt_tokens.count()));
  return true;
}

void EditedTrace::place(Request& request) {
  if (!first_) first_ = request.arrival;
  request.arrival = scaled(request.arrival - *first_, edits_.rate_scale);
  if (edits_.scale_delays && request.delay >= SimTime(0)) request.delay = scaled(request.delay, edits_.rate_scale);
}

}  // namespace blockyard::workload
