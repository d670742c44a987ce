// What is compared: every combination of the values of the varied keys, named so that a reader can tell them apart.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace blockyard::study {

// Keys that change together, mostly a single one.
struct Axis {
  std::vector<std::string> keys;                 // "kv_cache.strategy"
  std::vector<std::vector<std::string>> points;  // a value of each key
};

struct Variant {
  std::string label;                                          // "strategy=paged, block_size=16"
  std::vector<std::pair<std::string, std::string>> settings;  // key, value
};

// "key=a,b,c", or "key+key=a+x,b+y" for keys that change together; commas and pluses inside [], {} or quotes belong to
// the value, and pluses where there is one key. Throws InputError (place: --vary) for a key without values, an empty
// value, too few or too many for the keys, or what stands twice.
[[nodiscard]] Axis parse_axis(std::string_view text);

inline constexpr std::size_t kMostVariants = 10'000;

// In the order of the axes, the last one fastest. A label names the last part of each key, and as many parts more as it
// takes to tell the keys apart. Throws InputError for a key that is varied twice, and for more
// than kMostVariants.
[[nodiscard]] std::vector<Variant> variants(const std::vector<Axis>& axes);

// What the scenario of a variant is loaded with, as of several --set: "key=value" of `sets`, then of its own settings.
[[nodiscard]] std::vector<std::string> assignments(std::span<const std::string> sets, const Variant& variant);

}  // namespace blockyard::study
