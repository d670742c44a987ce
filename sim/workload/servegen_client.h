// One client of ServeGen (github.com/alibaba/ServeGen; Xiang et al., 2025): how often it asks in each window of time,
// and how long its prompts and answers are. Two files:
//   <chunk>-trace.csv     no header; a window a row: start (s), rate (requests/s), CV of the gaps, pattern, shape,
//                         scale (s). Gamma: shape = 1 / CV^2, scale = CV^2 / rate; Weibull; empty = idle
//   <chunk>-dataset.json  {start (s): {"input_tokens": "{length: probability, ...}", "output_tokens": "..."}}
//                         "{}" = as in the window before
// Laws: windows in order, and the mean gap of a pattern is 1 / rate within 1 %; a client was asking before each window
// began, so that a window brings rate x length requests in the mean, whatever the CV. Memory: the two files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"
#include "sim/base/random.h"
#include "sim/workload/line_reader.h"

namespace blockyard::workload {

struct ServeGenWindow {
  enum class Pattern : std::uint8_t { idle, gamma, weibull };

  SimTime start;
  double rate_per_s = 0;
  double cv = 0;
  Pattern pattern = Pattern::idle;
  double shape = 0;
  Seconds scale_s = 0;
  int line = 0;  // of the file

  // Not of an idle window. The first: from the window's beginning, which lies within a gap drawn in proportion to its
  // length, to the next request.
  [[nodiscard]] SimTime draw_first(RandomStream& stream, double rate_scale = 1) const;
  [[nodiscard]] SimTime draw_gap(RandomStream& stream, double rate_scale = 1) const;
};

// Lengths with their probabilities, summed up to 1.
class LengthTable {
 public:
  struct Entry {
    std::int64_t length;
    double up_to;  // probability of this or a shorter entry
  };
  // "{12: 0.25, 13: 0.75}"; probabilities need not sum to 1 before. Throws InputError at `place`.
  static LengthTable parse(std::string_view text, const Place& place);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::int64_t draw(RandomStream& stream) const;

 private:
  std::vector<Entry> entries_;
};

struct ServeGenLengths {
  SimTime start;
  LengthTable prompt;
  LengthTable output;
};

// A row of the first file. Throws InputError.
[[nodiscard]] ServeGenWindow parse_servegen_window(std::string_view line, const Place& place);
// Is the line such a row?
[[nodiscard]] bool is_servegen_window(std::string_view line);
// The second file, in order of time; windows without data are left out. Throws InputError with all that is wrong.
[[nodiscard]] std::vector<ServeGenLengths> read_servegen_lengths(const std::string& file);

struct ServeGenClient {
  std::vector<ServeGenWindow> windows;  // in order, each begins later than the one before
  std::vector<ServeGenLengths> lengths;
};
// What a client asks, in order of time. Streams of the seed: "servegen gaps", "servegen prompts", "servegen outputs".
class ServeGenRequests {
 public:
  struct Drawn {
    SimTime time;
    std::int64_t prompt_tokens = 0;
    std::int64_t output_tokens = 0;
    int line = 0;  // its window's
  };
  explicit ServeGenRequests(ServeGenClient client, std::uint64_t seed = 0, double rate_scale = 1);
  [[nodiscard]] std::optional<Drawn> next();  // none: the last window is over

 private:
  [[nodiscard]] const ServeGenWindow& window() const { return client_.windows[next_ - 1]; }
  bool begin_window();  // the next one that is not idle

  ServeGenClient client_;
  double rate_scale_;
  RandomStream gaps_;
  RandomStream prompts_;
  RandomStream outputs_;
  std::size_t next_ = 0;  // window, behind the one that time_ is in
  bool within_ = false;
  SimTime time_;
  SimTime end_;
  std::size_t table_ = 0;
};

// Both files; the second stands beside the first. Throws InputError with all that is wrong with either.
[[nodiscard]] ServeGenClient read_servegen_client(LineReader lines);

// Requests a second over all its windows, idle ones included.
[[nodiscard]] double mean_rate_per_s(const ServeGenClient& client);

// The clients' first files in a folder, by number and then by name; of a file itself. Throws InputError for a folder
// without any.
[[nodiscard]] std::vector<std::string> servegen_files(const std::filesystem::path& path);

}  // namespace blockyard::workload
