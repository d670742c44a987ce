// The screens: what a reader looks for is there, no line is too wide, and the shares add up.
#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>
#include <string>

#include "sim/report/comparison.h"
#include "sim/report/summary_text.h"
#include "tests/report/example_summary.h"

using namespace blockyard;
using namespace blockyard::report;

namespace {

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t width = 0;
  for (std::string line; std::getline(lines, line);) width = std::max(width, line.size());
  return width;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("one screen says what was asked, what came out and how far to trust it") {
  const std::string text = print_summary(example_summary());
  CHECK(widest(text) <= 100);
  for (const char* part : {"chat-on-a100", "llama-3-8b", "2 x a100-80gb-sxm", "seed 7", "19,366 arrived",
                           "19,300 finished", "40 queue_full", "TTFT", "TPOT", "ITL", "E2E", "goodput", "over_reserved",
                           "1,234 admissions", "within 6 %", "3 rows of zero length dropped"}) {
    INFO(part << " in\n" << text);
    CHECK(contains(text, part));
  }
  CHECK(print_summary(example_summary()) == text);
}

TEST_CASE("an early end stands on the screen") {
  metrics::Summary s = example_summary();
  s.interrupted = true;
  CHECK(contains(print_summary(s), "INTERRUPTED"));
  s.interrupted = false;
  s.stuck = "no progress for 10000 steps";
  CHECK(contains(print_summary(s), "no progress for 10000 steps"));
}

TEST_CASE("swap traffic is told where there is some") {
  metrics::Summary s = example_summary();
  CHECK_FALSE(contains(print_summary(s), "out to the host"));
  s.swapped_out = Bytes(3LL << 30);
  s.swapped_in = Bytes(2LL << 30);
  CHECK(contains(print_summary(s), "3.000 GiB out to the host"));
}

TEST_CASE("variants stand side by side, with the ratio to the first") {
  metrics::Summary slower = example_summary();
  slower.ttft.mean_s = 2 * *slower.ttft.mean_s;
  const std::string text = print_comparison({{"strategy=paged", example_summary()}, {"strategy=contiguous", slower}});
  CHECK(widest(text) <= 120);
  for (const char* part : {"strategy=paged", "strategy=contiguous", "TTFT mean", "2.00x", "live"}) {
    INFO(part << " in\n" << text);
    CHECK(contains(text, part));
  }
  std::vector<Variant> many;
  for (int i = 0; i < 9; ++i) many.push_back({"block_size=" + std::to_string(1 << i), example_summary()});
  const std::string tables = print_comparison(many);
  CHECK(widest(tables) <= 120);
  for (const Variant& variant : many) CHECK(contains(tables, variant.label));
}
