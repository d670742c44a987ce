// Laws that stay on in release: CHECK(n <= free, "asked {}, free {}", n, free) prints place, condition and values, and
// aborts. For wrong input see diagnostics.h: that is the user's, and an exception.
#pragma once

#include <fmt/format.h>

#include <string_view>

namespace blockyard {
[[noreturn]] void check_failed(const char* file, int line, const char* condition, std::string_view values);
}  // namespace blockyard

#define CHECK_LAW(condition, ...)                                                            \
  do {                                                                                       \
    if (!(condition)) [[unlikely]] {                                                         \
      ::blockyard::check_failed(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                        \
  } while (false)
