// libFuzzer: any bytes as a table from which lengths or arrivals are drawn: ServeGen's windows and length tables, a
// joint histogram of lengths. They end in draws within their bounds, or in an InputError. A byte in front chooses
// which.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/base/check.h"
#include "sim/base/random.h"
#include "sim/workload/joint_length_distribution.h"
#include "sim/workload/row_reader.h"
#include "sim/workload/servegen_client.h"
#include "tests/fuzz/memory_file.h"

namespace {

using namespace blockyard;
using namespace blockyard::workload;

void draw_gaps(std::string_view line) {
  const ServeGenWindow window = parse_servegen_window(line, {"fuzz", 1});
  if (window.pattern == ServeGenWindow::Pattern::idle) return;
  RandomStream stream(1, "fuzz");
  for (int i = 0; i < 100; ++i) CHECK_LAW(window.draw_gap(stream) >= SimTime(0), "a gap below 0");
}

void draw_table(const LengthTable& table) {
  RandomStream stream(1, "fuzz");
  for (int i = 0; i < 100; ++i) {
    const std::int64_t length = table.draw(stream);
    CHECK_LAW(length >= 0 && length <= kLongestLength, "length {}", length);
  }
}

void draw_lengths(std::string_view bytes) {
  const MemoryFile file(bytes);
  for (const ServeGenLengths& lengths : read_servegen_lengths(file.path())) {
    draw_table(lengths.prompt);
    draw_table(lengths.output);
  }
}

void draw_pairs(std::string_view bytes) {
  const MemoryFile file(bytes);
  const auto lengths = make_joint_lengths({file.path(), Tokens(4096)});
  RandomStream stream(1, "fuzz");
  std::array<Tokens, 100> prompts;
  std::array<Tokens, 100> outputs;
  lengths->draw(stream, prompts, outputs);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    CHECK_LAW(prompts[i] >= Tokens(1) && prompts[i].count() <= kLongestLength, "prompt {}", prompts[i].count());
    CHECK_LAW(outputs[i] >= Tokens(1) && outputs[i] <= Tokens(4096), "output {}", outputs[i].count());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  try {
    if (data[0] == 'w') draw_gaps(bytes);
    if (data[0] == 'l') draw_lengths(bytes);
    if (data[0] == 'h') draw_pairs(bytes);
  } catch (const InputError& error) {
    CHECK_LAW(!error.diagnostics().empty(), "an error that says nothing");
  }
  return 0;
}
