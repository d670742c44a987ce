// Whole numbers as people read them: 19366 -> "19,366".
#pragma once

#include <cstdint>
#include <string>

namespace blockyard::cli {

[[nodiscard]] inline std::string grouped(std::int64_t number) {
  std::string digits = std::to_string(number);
  const std::size_t sign = number < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) digits.insert(at -= 3, ",");
  return digits;
}

}  // namespace blockyard::cli
