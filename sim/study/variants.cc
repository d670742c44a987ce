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

std::vector<std::string> split_values(std::string_view text) {
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
    } else if (c == ',' && depth == 0) {
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

std::string short_name(const std::string& key, const std::vector<Axis>& axes) {
  for (int parts = 1;; ++parts) {
    std::string name = tail(key, parts);
    const auto same = std::ranges::count_if(axes, [&](const Axis& axis) { return tail(axis.key, parts) == name; });
    if (same == 1 || name == key) return name;
  }
}

}  // namespace

Axis parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail(fmt::format("\"{}\": expected KEY=VALUE,VALUE..., such as kv_cache.strategy=paged,contiguous", text));
  }
  Axis axis{trimmed(text.substr(0, equals)), split_values(text.substr(equals + 1))};
  for (std::size_t i = 0; i < axis.values.size(); ++i) {
    if (axis.values[i].empty()) fail(fmt::format("\"{}\": value {} is empty", text, i + 1));
    if (std::find(axis.values.begin(), axis.values.begin() + static_cast<std::ptrdiff_t>(i), axis.values[i]) !=
        axis.values.begin() + static_cast<std::ptrdiff_t>(i)) {
      fail(fmt::format("\"{}\": {} stands twice", text, axis.values[i]));
    }
  }
  return axis;
}

std::vector<Variant> variants(const std::vector<Axis>& axes) {
  for (const Axis& axis : axes) {
    if (std::ranges::count(axes, axis.key, &Axis::key) > 1) {
      fail(fmt::format("{} is varied twice; give all its values in one --vary", axis.key));
    }
  }
  std::size_t combinations = 1;
  for (const Axis& axis : axes) {
    if (__builtin_mul_overflow(combinations, axis.values.size(), &combinations) || combinations > kMostVariants)
      fail(fmt::format("more than {} combinations; give fewer values", kMostVariants));
  }
  std::vector<Variant> all{{}};
  for (const Axis& axis : axes) {
    const std::string name = short_name(axis.key, axes);
    std::vector<Variant> longer;
    for (const Variant& variant : all) {
      for (const std::string& value : axis.values) {
        Variant next = variant;
        next.label += fmt::format("{}{}={}", next.label.empty() ? "" : ", ", name, value);
        next.settings.emplace_back(axis.key, value);
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
