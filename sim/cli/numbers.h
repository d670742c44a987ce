// Whole numbers as people read them: 19366 -> "19,366".
#pragma once

#include <cstdint>
#include <string>

namespace blockyard::cli {

[[nodiscard]] inline std::string grouped(std::int64_t number) {
  const std::string digits = std::to_string(number);
  std::string text;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const bool between_digits = i > 0 && digits[i - 1] != '-';
    if (between_digits && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

}  // namespace blockyard::cli
