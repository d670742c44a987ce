// The decoding sequences of one cohort by (written mod block_size), seen from the cohort's step count: a sequence
// stays in its bucket while it decodes, and the buckets turn under a cursor. Whose last block is full with the next
// step and who takes a block in it stand in one bucket each. All O(1).
#pragma once

#include <cstddef>
#include <vector>

#include "sim/base/quantities.h"

namespace blockyard::kv {

template <class Bucket>
class DecodeBuckets {
 public:
  explicit DecodeBuckets(Tokens block_size) : buckets_(static_cast<std::size_t>(block_size.count())) {}

  [[nodiscard]] Bucket& of(Tokens written) {
    return buckets_[(static_cast<std::size_t>(written.count()) + cursor_) % buckets_.size()];
  }
  // Those that stand at a block's end, and take one with the next token; those that fill their block with it.
  [[nodiscard]] const Bucket& taking() const { return buckets_[cursor_]; }
  [[nodiscard]] const Bucket& filling() const { return buckets_[next_cursor()]; }

  // All have written one token more.
  void advance() { cursor_ = next_cursor(); }

 private:
  [[nodiscard]] std::size_t next_cursor() const { return (cursor_ == 0 ? buckets_.size() : cursor_) - 1; }

  std::vector<Bucket> buckets_;
  std::size_t cursor_ = 0;  // (-steps) mod block_size
};

}  // namespace blockyard::kv
