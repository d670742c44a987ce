// Text that a YAML reader may be given: UTF-8 without control characters other than tab and line ends. The library
// would end a file silently at a byte 0x04 and hand broken UTF-8 through to the reports. O(length).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace blockyard::scenario {

struct TextFault {
  int line = 0;    // from 1
  int column = 0;  // from 1, in bytes
  std::string message;
};

[[nodiscard]] std::optional<TextFault> first_fault(std::string_view text);

}  // namespace blockyard::scenario
