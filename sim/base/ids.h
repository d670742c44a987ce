// Names of things that several rooms speak of. All are dense: RequestId counts arrivals, SequenceId is reused when a
// request ends, CohortId counts the cohorts of one scheduler.
#pragma once

#include <cstddef>
#include <cstdint>

namespace blockyard {

enum class RequestId : std::uint32_t {};                      // the n-th arrival of the run
enum class SequenceId : std::uint32_t { none = UINT32_MAX };  // a request that holds, or held, KV memory
enum class CohortId : std::uint32_t {};                       // sequences that decode in step with each other

[[nodiscard]] constexpr std::size_t index_of(RequestId id) { return static_cast<std::size_t>(id); }
[[nodiscard]] constexpr std::size_t index_of(SequenceId id) { return static_cast<std::size_t>(id); }
[[nodiscard]] constexpr std::size_t index_of(CohortId id) { return static_cast<std::size_t>(id); }

}  // namespace blockyard
