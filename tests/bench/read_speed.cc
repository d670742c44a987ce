// How fast traces are read, all rows of a file into requests: the fastest of five readings in wall time, and the peak
// memory of the process so far. Usage: read_speed FILE...
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>

#include "sim/workload/trace.h"

int main(int argc, char** argv) {
  using namespace blockyard::workload;
  constexpr int kReadings = 5;
  for (int i = 1; i < argc; ++i) {
    const std::string file = argv[i];
    double best_s = 1e9;
    ReadReport read;
    for (int reading = 0; reading < kReadings; ++reading) {
      const auto started = std::chrono::steady_clock::now();
      TraceOptions options;
      options.untimed = UntimedRows::keep;
      const auto trace = open_trace(file, options);
      std::array<Request, 256> requests;
      while (trace->read(requests) > 0) {
      }
      best_s = std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count());
      read = trace->report();
    }
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const double bytes = static_cast<double>(std::filesystem::file_size(file));
    fmt::print("{:<32} {:<16} {:>10} rows {:>8.1f} MB {:>8.4f} s {:>7.0f} MB/s {:>7.1f} ns a row, peak {:.0f} MB\n",
               std::filesystem::path(file).filename().string(), read.format, read.rows, bytes / 1e6, best_s,
               bytes / 1e6 / best_s, 1e9 * best_s / static_cast<double>(std::max<std::int64_t>(read.rows, 1)),
               static_cast<double>(usage.ru_maxrss) * 1024 / 1e6);
  }
}
