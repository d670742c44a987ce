// How far a long run is, for the person who waits. On a terminal one line, first after 1 s, redrawn at most 5 times a
// second and erased at the end; elsewhere a log line every 10 s. It reads the host's clock and writes to `err` only: no
// report depends on it. The time left is that of a run which goes on at its mean speed so far. O(1) a call: one reading
// of the clock.
#pragma once

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sim/base/quantities.h"
#include "sim/cli/command.h"

namespace blockyard::cli {

struct Advance {
  SimTime now;
  std::int64_t finished = 0;             // requests
  std::optional<std::int64_t> expected;  // requests in all, where the workload knows
};

// "25 %, simulated 58 min 22 s, 4,842 of 19,366 requests, 3 s left"; the share and the time left need `expected`.
[[nodiscard]] std::string progress_line(const Advance& advance, Seconds elapsed);
[[nodiscard]] std::string in_words(Seconds duration);  // "3 s", "58 min 22 s", "2 h 5 min", "3 d 4 h"

class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  explicit Progress(Streams streams, std::string what = "", Clock clock = std::chrono::steady_clock::now);
  ~Progress();  // erases the line
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(const Advance& advance);

 private:
  std::ostream& err_;
  bool terminal_;
  std::string what_;
  Clock clock_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point next_;  // when to show something again
  std::shared_ptr<spdlog::logger> log_;
  bool line_stands_ = false;
};

}  // namespace blockyard::cli
