// Of which class of limits (a scenario's slo.classes) each request is. In this order:
//   the class that names the request's category (a word of the trace, as BLIS's slo_class)
//   the first class that names its tenant
//   one drawn by weight, of a session for all its turns; no class if none has a weight
// An edit. Draws come from the stream "slo_classes" of the seed. O(classes) a request.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/workload/request.h"
#include "sim/workload/trace.h"

namespace blockyard::workload {

struct SloClassRule {
  struct Tenants {
    std::uint32_t first = 0;
    std::uint32_t last = 0;
  };
  double weight = 0;  // of requests that no class names
  std::vector<Tenants> tenants;
  std::string category;  // "" = none
};

// `named_by`: the source, or one within it, whose report names categories; nullptr: there are none.
[[nodiscard]] std::unique_ptr<RequestSource> with_slo_classes(std::unique_ptr<RequestSource> source,
                                                              const std::vector<SloClassRule>& classes,
                                                              std::uint64_t seed, const TraceSource* named_by);

}  // namespace blockyard::workload
