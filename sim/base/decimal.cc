#include "sim/base/decimal.h"

#include <string_view>

namespace blockyard {

void append_decimal(fmt::memory_buffer& out, std::int64_t value, int places) {
  const fmt::format_int text(value);
  std::string_view digits(text.data(), text.size());
  if (digits.starts_with('-')) {
    out.push_back('-');
    digits.remove_prefix(1);
  }
  const std::size_t below = static_cast<std::size_t>(places);
  const std::size_t whole = digits.size() > below ? digits.size() - below : 0;
  if (whole == 0) out.push_back('0');
  out.append(digits.begin(), digits.begin() + whole);
  std::string_view fraction = digits.substr(whole);
  std::size_t zeros = below - fraction.size();  // between the point and the first digit
  while (fraction.ends_with('0')) fraction.remove_suffix(1);
  if (fraction.empty()) return;
  out.push_back('.');
  for (; zeros > 0; --zeros) out.push_back('0');
  out.append(fraction.begin(), fraction.end());
}

}  // namespace blockyard
