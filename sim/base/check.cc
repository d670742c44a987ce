#include "sim/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace blockyard {

void check_failed(const char* file, int line, const char* condition, std::string_view values) {
  fmt::print(stderr, "{}:{}: broken law: {}: {}\n", file, line, condition, values);
  std::fflush(stderr);
  std::abort();
}

}  // namespace blockyard
