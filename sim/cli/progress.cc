#include "sim/cli/progress.h"

#include <fmt/format.h>
#include <spdlog/sinks/ostream_sink.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <utility>

#include "sim/cli/numbers.h"

namespace blockyard::cli {
namespace {

using namespace std::chrono_literals;
constexpr auto kFirstLine = 1s;
constexpr auto kRedraw = 200ms;
constexpr auto kLogLine = 10s;
constexpr const char* kErase = "\r\x1b[K";

}  // namespace

std::string in_words(Seconds duration) {
  const auto whole = static_cast<std::int64_t>(std::llround(duration));
  const std::int64_t minutes = whole / 60;
  const std::int64_t hours = minutes / 60;
  const std::int64_t days = hours / 24;
  if (minutes == 0) return fmt::format("{} s", whole);
  if (hours == 0) return fmt::format("{} min {} s", minutes, whole % 60);
  if (days == 0) return fmt::format("{} h {} min", hours, minutes % 60);
  return fmt::format("{} d {} h", days, hours % 24);
}

std::string progress_line(const Advance& advance, Seconds elapsed) {
  const std::string simulated = "simulated " + in_words(to_seconds(advance.now));
  if (!advance.expected || *advance.expected <= 0) {
    return fmt::format("{}, {} requests", simulated, grouped(advance.finished));
  }
  const double share = std::min(1.0, static_cast<double>(advance.finished) / static_cast<double>(*advance.expected));
  std::string line = fmt::format("{:.0f} %, {}, {} of {} requests", std::floor(100 * share), simulated,
                                 grouped(advance.finished), grouped(*advance.expected));
  if (share > 0) line += fmt::format(", {} left", in_words(elapsed * (1 - share) / share));
  return line;
}

Progress::Progress(Streams streams, std::string what, Clock clock)
    : err_(streams.err),
      terminal_(streams.err_is_terminal),
      what_(what.empty() ? "" : std::move(what) + ": "),
      clock_(std::move(clock)),
      started_(clock_()),
      next_(started_ + (terminal_ ? std::chrono::milliseconds(kFirstLine) : std::chrono::milliseconds(kLogLine))),
      log_(std::make_shared<spdlog::logger>("progress", std::make_shared<spdlog::sinks::ostream_sink_st>(err_, true))) {
  log_->set_pattern("[%H:%M:%S] %v");
}

Progress::~Progress() {
  if (line_stands_) err_ << kErase << std::flush;
}

void Progress::update(const Advance& advance) {
  const auto now = clock_();
  if (now < next_) return;
  const std::string line = what_ + progress_line(advance, std::chrono::duration<double>(now - started_).count());
  if (terminal_) {
    err_ << kErase << line << std::flush;
    line_stands_ = true;
    next_ = now + kRedraw;
  } else {
    log_->info(line);
    next_ = now + kLogLine;
  }
}

}  // namespace blockyard::cli
