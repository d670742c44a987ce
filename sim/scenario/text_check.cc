#include "sim/scenario/text_check.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>

namespace blockyard::scenario {
namespace {

// Length of the well-formed UTF-8 character at the front (Unicode 15, table 3-7); 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(i < text.size() ? text[i] : '\0'); };
  const auto follows = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if ((byte(i) & 0xC0U) != 0x80U) return false;
    }
    return true;
  };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return follows(1, 2) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) > 0x9F;
    return !overlong && !surrogate && follows(1, 3) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool beyond = lead == 0xF4 && byte(1) > 0x8F;
    return !overlong && !beyond && follows(1, 4) ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::optional<TextFault> first_fault(std::string_view text) {
  int line = 1;
  std::size_t line_start = 0;
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    const std::size_t length = character_length(text.substr(i));
    const bool control = (byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F;
    if (length == 0 || control) {
      return TextFault{line, static_cast<int>(i - line_start) + 1,
                       length == 0 ? fmt::format("byte 0x{:02x} is not UTF-8 text", byte)
                                   : fmt::format("control character 0x{:02x}; expected plain text", byte)};
    }
    if (byte == '\n') {
      ++line;
      line_start = i + 1;
    }
    i += length;
  }
  return std::nullopt;
}

}  // namespace blockyard::scenario
