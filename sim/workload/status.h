// What the status of a request says, in a log or a trace: did it get its answer?
#pragma once

#include <string_view>

namespace blockyard::workload {

// Nothing, a number below 400 (HTTP), or a word such as ok, success, finished, completed, stop or length. Any other
// word (error, timeout, cancelled, incomplete, ...) is a failure: such rows are left out and counted, so that a new
// word shows.
[[nodiscard]] bool is_success(std::string_view status);

}  // namespace blockyard::workload
