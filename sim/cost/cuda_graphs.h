// CUDA graphs as vLLM captures them: for 1, 2, 4 tokens, multiples of 8 up to 256 and of 16 up to `largest`. A step of
// at most `largest` tokens is padded to the next of these sizes; a larger one is launched kernel by kernel and not
// padded. Source: the capture sizes that servers of vLLM 0.15 and 0.19 report.
#pragma once

#include <algorithm>
#include <cstdint>

namespace blockyard::cost {

// vLLM's default: twice the seats, at most 512.
[[nodiscard]] constexpr std::int64_t largest_cuda_graph(std::int64_t max_num_seqs) {
  return std::min<std::int64_t>(512, 2 * max_num_seqs);
}

// >= tokens. largest = 0: no graphs.
[[nodiscard]] constexpr std::int64_t padded_tokens(std::int64_t tokens, std::int64_t largest) {
  if (tokens > largest || tokens <= 2) return tokens;
  if (tokens <= 4) return std::min<std::int64_t>(4, largest);
  const std::int64_t multiple = tokens <= 256 ? 8 : 16;
  return std::min(largest, (tokens + multiple - 1) / multiple * multiple);
}

}  // namespace blockyard::cost
