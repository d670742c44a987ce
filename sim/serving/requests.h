// The scenario's `workload` section -> a stream of requests: a trace or a generator, and the rule of their max_tokens.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "sim/base/diagnostics.h"
#include "sim/scenario/document.h"
#include "sim/workload/content_store.h"
#include "sim/workload/request.h"
#include "sim/workload/trace.h"

namespace blockyard::serving {

struct Requests {
  std::unique_ptr<workload::RequestSource> source;
  const workload::TraceSource* trace = nullptr;     // within `source`, if it reads a file
  std::optional<std::int64_t> expected;             // how many there will be, where that is known
  const workload::TraceSource* named_by = nullptr;  // within `source`: knows the names of categories
};

// Requests from elsewhere, in place of the scenario's workload.
struct RequestsOverride {
  bool tells_contents = false;                                     // of prompts that they share content
  bool asks_samples = false;                                       // a request may become several sequences
  std::optional<std::int64_t> expected;                            // how many there will be, where that is known
  std::function<Requests(workload::ContentStore* contents)> make;  // `source`, and `named_by` where there are names
};

// Does the workload say of prompts that they share content, as far as that is known before it is read?
[[nodiscard]] bool tells_contents(const scenario::Document& scenario);

// May a request become several sequences (parallel samples, beams), likewise?
[[nodiscard]] bool asks_samples(const scenario::Document& scenario);

// Does the engine make a request of each sample?
[[nodiscard]] bool splits_samples(const scenario::Document& scenario);

// Adds what is wrong to `errors`; then the source may be null. `contents`: where ids of prompt blocks go; nullptr: they
// are not kept.
[[nodiscard]] Requests make_requests(const scenario::Document& scenario, Tokens max_model_len,
                                     workload::ContentStore* contents, Diagnostics& errors);

}  // namespace blockyard::serving
