// How tokens lie on the physical pages of one GPU when every layer keeps its keys and its values in a tensor of their
// own, contiguous in virtual addresses, as vAttention does: a tensor of token_bytes a token holds n tokens in
// ceil(n x token_bytes / page_bytes) pages, and a token may lie across two pages. All tensors of a sequence grow
// together, so that its smallest step is a page in each of them: a page of 2 MiB holds 1,024 tokens of Llama 3 8B's
// keys in one layer (8 heads x 128 x 2 bytes), a step takes 2 x 32 of them. Tensor parallelism divides the heads of a
// GPU, so that a page there holds more tokens. Cost: O(kinds of tensors), one for most models; most_tokens O(log).
// Source: Prabhu et al., vAttention, ASPLOS 2025, sec. 5.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/quantities.h"

namespace blockyard::kv {

class PageGeometry {
 public:
  struct Tensors {
    std::int64_t token_bytes = 0;
    std::int64_t count = 0;
  };

  PageGeometry() = default;
  PageGeometry(Bytes page, std::vector<Tensors> tensors);

  // Pages that hold `tokens` tokens.
  [[nodiscard]] std::int64_t pages_for(Tokens tokens) const;
  // The most tokens that the pages for `tokens` hold, and the most that fewer pages hold (tokens > 0).
  [[nodiscard]] Tokens filled(Tokens tokens) const;
  [[nodiscard]] Tokens one_step_less(Tokens tokens) const;
  // The most tokens that `pages` pages hold.
  [[nodiscard]] Tokens most_tokens(std::int64_t pages) const;

  // The largest pieces of which pages and tokens are whole numbers.
  [[nodiscard]] Bytes piece_bytes() const { return Bytes(piece_bytes_); }
  [[nodiscard]] std::int64_t pieces_per_page() const { return page_bytes_ / piece_bytes_; }
  [[nodiscard]] std::int64_t pieces_per_token() const { return token_bytes_ / piece_bytes_; }

 private:
  [[nodiscard]] std::int64_t pages_of(const Tensors& t, Tokens tokens) const {
    return (tokens.count() * t.token_bytes + page_bytes_ - 1) / page_bytes_;
  }

  std::int64_t page_bytes_ = 1;
  std::int64_t token_bytes_ = 1;  // in all tensors
  std::int64_t piece_bytes_ = 1;
  std::vector<Tensors> tensors_;
};

}  // namespace blockyard::kv
