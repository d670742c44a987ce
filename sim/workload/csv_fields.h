// The fields of a CSV line, and the names of its header.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace blockyard::workload {

// Without spaces and tabs at its ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

// One field from `at`, trimmed and without its quotes (a doubled quote inside stays doubled); `at` moves to the comma
// behind it or to `end`. Gives what is wrong, or nullptr.
[[nodiscard]] const char* take_field(const char*& at, const char* end, std::string_view& field);

// The names of a header; none when the line cannot be one (a quote left open, longer than 64 KiB).
[[nodiscard]] std::vector<std::string> split_header(std::string_view line);

// The same but for case and spaces.
[[nodiscard]] bool same_name(std::string_view a, std::string_view b);

}  // namespace blockyard::workload
