// An integer as decimal text with its point `places` from the right, exact and without trailing zeros: 4314489000 ns
// with 9 places is "4.314489" s. O(digits), nothing is allocated but by the buffer.
#pragma once

#include <fmt/format.h>

#include <cstdint>

namespace blockyard {

void append_decimal(fmt::memory_buffer& out, std::int64_t value, int places);  // 0 <= places <= 18

}  // namespace blockyard
