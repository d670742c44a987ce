#include "sim/study/variants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "sim/base/diagnostics.h"

namespace blockyard::study {
namespace {

[[noreturn]] void fail(std::string message) { throw InputError({"--vary", 0, 0}, std::move(message)); }

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(' ') - begin + 1));
}

// At each `separator` that is neither in brackets nor in quotes.
std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> values;
  std::string value;
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == separator && depth == 0) {
      values.push_back(trimmed(value));
      value.clear();
      continue;
    }
    value += c;
  }
  values.push_back(trimmed(value));
  return values;
}

// The last `parts` parts of a dotted key.
std::string tail(const std::string& key, int parts) {
  std::size_t at = key.size();
  for (int i = 0; i < parts && at != std::string::npos && at > 0; ++i) at = key.rfind('.', at - 1);
  return at == std::string::npos || at == 0 ? key : key.substr(at + 1);
}

std::string short_name(const std::string& key, const std::vector<std::string>& keys) {
  for (int parts = 1;; ++parts) {
    std::string name = tail(key, parts);
    const auto same = std::ranges::count_if(keys, [&](const std::string& other) { return tail(other, parts) == name; });
    if (same == 1 || name == key) return name;
  }
}

std::vector<std::string> keys_of(const std::vector<Axis>& axes) {
  std::vector<std::string> keys;
  for (const Axis& axis : axes) keys.insert(keys.end(), axis.keys.begin(), axis.keys.end());
  return keys;
}

}  // namespace

Axis parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail(fmt::format("\"{}\": expected KEY=VALUE,VALUE..., such as kv_cache.strategy=paged,contiguous", text));
  }
  Axis axis;
  axis.keys = split(text.substr(0, equals), '+');
  if (std::ranges::find(axis.keys, "") != axis.keys.end()) fail(fmt::format("\"{}\": a key is empty", text));
  for (const std::string& value : split(text.substr(equals + 1), ',')) {
    std::vector<std::string> point = axis.keys.size() == 1 ? std::vector{value} : split(value, '+');
    const std::size_t number = axis.points.size() + 1;
    if (point.size() != axis.keys.size()) {
      fail(fmt::format("\"{}\": value {}, {}: expected {} values joined by +, one for each key, found {}", text, number,
                       value, axis.keys.size(), point.size()));
    }
    if (std::ranges::find(point, "") != point.end()) fail(fmt::format("\"{}\": value {} is empty", text, number));
    if (std::ranges::find(axis.points, point) != axis.points.end())
      fail(fmt::format("\"{}\": {} stands twice", text, value));
    axis.points.push_back(std::move(point));
  }
  return axis;
}

std::vector<Variant> variants(const std::vector<Axis>& axes) {
  const std::vector<std::string> keys = keys_of(axes);
  for (const std::string& key : keys) {
    if (std::ranges::count(keys, key) > 1)
      fail(fmt::format("{} is varied twice; give all its values in one --vary", key));
  }
  std::size_t combinations = 1;
  for (const Axis& axis : axes) {
    if (__builtin_mul_overflow(combinations, axis.points.size(), &combinations) || combinations > kMostVariants)
      fail(fmt::format("more than {} combinations; give fewer values", kMostVariants));
  }
  std::vector<Variant> all{{}};
  for (const Axis& axis : axes) {
    std::vector<Variant> longer;
    for (const Variant& variant : all) {
      for (const std::vector<std::string>& point : axis.points) {
        Variant next = variant;
        for (std::size_t i = 0; i < point.size(); ++i) {
          next.label +=
              fmt::format("{}{}={}", next.label.empty() ? "" : ", ", short_name(axis.keys[i], keys), point[i]);
          next.settings.emplace_back(axis.keys[i], point[i]);
        }
        longer.push_back(std::move(next));
      }
    }
    all = std::move(longer);
  }
  return all;
}

std::vector<std::string> assignments(std::span<const std::string> sets, const Variant& variant) {
  std::vector<std::string> all(sets.begin(), sets.end());
  for (const auto& [key, value] : variant.settings) all.push_back(fmt::format("{}={}", key, value));
  return all;
}

}  // namespace blockyard::study
