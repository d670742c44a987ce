// The scenario's `workload` section -> a stream of requests: a trace or a generator, and the rule of their max_tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "sim/base/diagnostics.h"
#include "sim/scenario/document.h"
#include "sim/workload/request.h"
#include "sim/workload/trace.h"

namespace blockyard::serving {

struct Requests {
  std::unique_ptr<workload::RequestSource> source;
  const workload::TraceSource* trace = nullptr;  // within `source`, if it reads a file
  std::optional<std::int64_t> expected;          // how many there will be, where that is known
};

// Adds what is wrong to `errors`; then the source may be null.
[[nodiscard]] Requests make_requests(const scenario::Document& scenario, Tokens max_model_len, Diagnostics& errors);

}  // namespace blockyard::serving
