// Parallel samples: how many sequences a request becomes after its prompt (`n` of the API; the width of a beam search).
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "sim/workload/content_store.h"
#include "sim/workload/request.h"

namespace blockyard::workload {

// An edit: every request asks for `samples` (1 to kMostSamples).
[[nodiscard]] std::unique_ptr<RequestSource> with_samples(std::unique_ptr<RequestSource> source, std::int32_t samples);

// Throws InputError at a request that asks for more than one.
[[nodiscard]] std::unique_ptr<RequestSource> expect_one_sample(std::unique_ptr<RequestSource> source);

// Makes a request of each sample, side by side, all else alike, as vLLM 0.6.6 does. `contents` holds what their prompts
// say; nullptr: they are not kept.
[[nodiscard]] std::unique_ptr<RequestSource> request_of_each_sample(std::unique_ptr<RequestSource> source,
                                                                    ContentStore* contents);

}  // namespace blockyard::workload
