// The header of a recorded run with less work in it. Each gives a new header; aborts follow the requests that they
// name, and go with them. O(header).
#pragma once

#include "sim/study/conform/record.h"

namespace blockyard::study {

[[nodiscard]] Json without_requests(const Json& header, std::size_t first, std::size_t count);
[[nodiscard]] Json without_abort(const Json& header, std::size_t index);
// Keeps the prompt's first tokens.
[[nodiscard]] Json with_prompt(const Json& header, std::size_t index, std::int64_t tokens);
[[nodiscard]] Json with_max_tokens(const Json& header, std::size_t index, std::int64_t tokens);

// Of one entry of a header's requests.
[[nodiscard]] std::int64_t prompt_of(const Json& request);
[[nodiscard]] std::int64_t max_tokens_of(const Json& request);

}  // namespace blockyard::study
