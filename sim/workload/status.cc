#include "sim/workload/status.h"

#include <algorithm>
#include <array>

#include "sim/workload/csv_fields.h"
#include "sim/workload/numbers.h"

namespace blockyard::workload {

bool is_success(std::string_view status) {
  constexpr std::int64_t kFirstError = 400;
  constexpr std::array<std::string_view, 13> kWords{"",         "ok",        "success",  "successful", "succeeded",
                                                    "finished", "completed", "complete", "done",       "stop",
                                                    "length",   "true",      "none"};
  const Decimal number = parse_decimal(status, 0);
  if (number.fault == nullptr) return number.value >= 0 && number.value < kFirstError;
  return std::ranges::any_of(kWords, [&](std::string_view word) { return same_name(word, status); });
}

}  // namespace blockyard::workload
