// One client of ServeGen (github.com/alibaba/ServeGen; Xiang et al., 2025): how often it asks in each window of time,
// and how long its prompts and answers are. Two files:
//   <chunk>-trace.csv     no header; a window a row: start (s), rate (requests/s), CV of the gaps, pattern, shape,
//                         scale (s). Gamma: shape = 1 / CV^2, scale = CV^2 / rate; Weibull; empty = idle
//   <chunk>-dataset.json  {start (s): {"input_tokens": "{length: probability, ...}", "output_tokens": "..."}}
//                         "{}" = as in the window before
// Law: windows in order, and the mean gap of a pattern is 1 / rate within 1 %. Memory: the two files.
#pragma once

#include <cstdint>
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

  [[nodiscard]] SimTime draw_gap(RandomStream& stream) const;  // not of an idle window
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
// Both files; the second stands beside the first. Throws InputError with all that is wrong with either.
[[nodiscard]] ServeGenClient read_servegen_client(LineReader lines);

}  // namespace blockyard::workload
