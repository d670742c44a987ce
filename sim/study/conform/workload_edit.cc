#include "sim/study/conform/workload_edit.h"

#include <algorithm>

namespace blockyard::study {
namespace {

// Fields of a request in a header.
constexpr std::size_t kMaxTokens = 4;
constexpr std::size_t kRuns = 6;

}  // namespace

Json without_requests(const Json& header, std::size_t first, std::size_t count) {
  Json smaller = header;
  Json& requests = smaller["requests"];
  const auto begin = requests.begin() + static_cast<std::ptrdiff_t>(first);
  requests.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  if (!header.contains("aborts")) return smaller;
  smaller["aborts"] = Json::array();
  for (const Json& abort : header["aborts"]) {
    const auto request = abort[1].get<std::size_t>();
    if (request < first) smaller["aborts"].push_back(abort);
    if (request >= first + count) smaller["aborts"].push_back(Json::array({abort[0], request - count}));
  }
  if (smaller["aborts"].empty()) smaller.erase("aborts");
  return smaller;
}

Json without_abort(const Json& header, std::size_t index) {
  Json smaller = header;
  smaller["aborts"].erase(index);
  if (smaller["aborts"].empty()) smaller.erase("aborts");
  return smaller;
}

std::int64_t prompt_of(const Json& request) {
  std::int64_t tokens = 0;
  for (const Json& run : request[kRuns]) tokens += run[1].get<std::int64_t>();
  return tokens;
}

Json with_prompt(const Json& header, std::size_t index, std::int64_t tokens) {
  Json smaller = header;
  Json& runs = smaller["requests"][index][kRuns];
  Json kept = Json::array();
  for (const Json& run : runs) {
    const std::int64_t taken = std::min(tokens, run[1].get<std::int64_t>());
    if (taken > 0) kept.push_back(Json::array({run[0], taken}));
    tokens -= taken;
  }
  runs = std::move(kept);
  return smaller;
}

std::int64_t max_tokens_of(const Json& request) { return request[kMaxTokens].get<std::int64_t>(); }

Json with_max_tokens(const Json& header, std::size_t index, std::int64_t tokens) {
  Json smaller = header;
  smaller["requests"][index][kMaxTokens] = tokens;
  return smaller;
}

}  // namespace blockyard::study
