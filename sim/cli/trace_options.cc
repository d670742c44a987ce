#include "sim/cli/trace_options.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace blockyard::cli {
namespace {

std::string choice(const Options& options, const std::string& name, const std::vector<std::string>& words) {
  const std::string word = options.value_of(name).value_or(words.front());
  for (const std::string& known : words) {
    if (known == word) return word;
  }
  options.fail(
      fmt::format("--{}: found \"{}\", expected {}{}", name, word, fmt::join(words, ", "), did_you_mean(word, words)));
}

}  // namespace

std::int64_t whole_number(const Options& options, const std::string& name, std::int64_t low, std::int64_t high,
                          std::int64_t otherwise) {
  const auto text = options.value_of(name);
  if (!text) return otherwise;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || value < low || value > high) {
    options.fail(fmt::format("--{}: found \"{}\", expected a whole number from {} to {}", name, *text, low, high));
  }
  return value;
}

double positive_number(const Options& options, const std::string& name, double otherwise) {
  const auto text = options.value_of(name);
  if (!text) return otherwise;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size() || !(value > 0) || !std::isfinite(value)) {
    options.fail(fmt::format("--{}: found \"{}\", expected a number above 0", name, *text));
  }
  return value;
}

void add_trace_options(Options& options) {
  options.value("bad-lengths", "drop|keep|fail", "rows whose lengths are zero, negative or missing");
  options.value("hash-block", "TOKENS", "tokens that a hash id stands for, instead of the format's own");
  options.value("partial-ids", "auto|ceil|floor|either", "which counts of hash ids are right for a prompt");
  options.value("max-bad-rows", "N", "malformed rows left out and counted before reading fails (0)");
  options.value("reorder-window", "N", "rows out of order are put back if at most N rows late (65536)");
  options.flag("no-header", "the CSV begins with its first row; the format has to be named");
}

workload::TraceOptions trace_options(const Options& options) {
  constexpr std::int64_t kMost = 100'000'000;
  workload::TraceOptions how;
  const std::string lengths = choice(options, "bad-lengths", {"drop", "keep", "fail"});
  how.bad_lengths = lengths == "keep"   ? workload::BadLengths::keep
                    : lengths == "fail" ? workload::BadLengths::fail
                                        : workload::BadLengths::drop;
  const std::string ids = choice(options, "partial-ids", {"auto", "ceil", "floor", "either"});
  how.partial_ids = ids == "ceil"     ? workload::PartialIds::ceil
                    : ids == "floor"  ? workload::PartialIds::floor
                    : ids == "either" ? workload::PartialIds::either
                                      : workload::PartialIds::by_format;
  how.hash_block = whole_number(options, "hash-block", 1, 1'000'000, 0);
  how.max_bad_rows = whole_number(options, "max-bad-rows", 0, INT64_MAX, 0);
  how.reorder_window = whole_number(options, "reorder-window", 0, kMost, how.reorder_window);
  how.header = !options.has("no-header");
  how.untimed = workload::UntimedRows::keep;
  return how;
}

}  // namespace blockyard::cli
