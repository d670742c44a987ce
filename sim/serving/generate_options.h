// The scenario's `workload.generate` section -> what a generator, or a mixture of clients, is made of.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/diagnostics.h"
#include "sim/scenario/document.h"
#include "sim/workload/generator.h"
#include "sim/workload/mixture.h"

namespace blockyard::serving {

// Does the workload come from a list of clients?
[[nodiscard]] bool has_clients(const scenario::Document& scenario);
// Is this section of `workload.generate` given, there or by one of its clients?
[[nodiscard]] bool generates_with(const scenario::Document& scenario, const std::string& section);
// The most samples of a request that a generator, or a client, asks for.
[[nodiscard]] std::int64_t generated_samples(const scenario::Document& scenario);

// None where something is wrong with it, which goes to `errors`.
[[nodiscard]] std::optional<workload::GeneratorSpec> generator_spec(const scenario::Document& scenario,
                                                                    Diagnostics& errors);
[[nodiscard]] std::optional<workload::MixtureSpec> mixture_spec(const scenario::Document& scenario,
                                                                Diagnostics& errors);

}  // namespace blockyard::serving
