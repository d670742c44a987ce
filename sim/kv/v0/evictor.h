// vLLM V0's evictor: blocks without an owner whose content may be found again. The one evicted has the smallest
// (last access, -tokens up to and including the block, id): least recently used first, and of one age the deepest.
// A lazy heap: an entry counts only while it is the block's newest; stale ones are dropped when they surface, and swept
// when they outnumber the true ones. Every call amortised O(log n). Source: vLLM 0.6.6, LRUEvictor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "sim/base/check.h"
#include "sim/kv/prefix/content_tree.h"

namespace blockyard::kv {

class V0Evictor {
 public:
  explicit V0Evictor(Blocks blocks) : stamp_(static_cast<std::size_t>(blocks.count()), 0) {}

  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] bool contains(BlockId block) const { return stamp_[block] != 0; }

  void add(BlockId block, std::int64_t last_access, std::int64_t tokens) {
    CHECK_LAW(!contains(block), "block {} is to be evicted twice", block);
    stamp_[block] = ++additions_;
    heap_.push_back({last_access, -tokens, block, additions_});
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    ++size_;
    if (heap_.size() > 64 && static_cast<std::int64_t>(heap_.size()) > 2 * size_) sweep();
  }

  void remove(BlockId block) {
    CHECK_LAW(contains(block), "block {} is not to be evicted", block);
    stamp_[block] = 0;
    --size_;
  }

  BlockId evict() {
    CHECK_LAW(size_ > 0, "nothing to evict");
    for (;;) {
      std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
      const Entry entry = heap_.back();
      heap_.pop_back();
      if (stamp_[entry.block] != entry.stamp) continue;
      remove(entry.block);
      return entry.block;
    }
  }

 private:
  struct Entry {
    std::int64_t last_access;
    std::int64_t minus_tokens;
    BlockId block;
    std::uint64_t stamp;
    auto operator<=>(const Entry&) const = default;
  };

  void sweep() {
    std::erase_if(heap_, [&](const Entry& entry) { return stamp_[entry.block] != entry.stamp; });
    std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
  }

  std::vector<Entry> heap_;
  std::vector<std::uint64_t> stamp_;  // by block: of its newest entry; 0 = not here
  std::uint64_t additions_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace blockyard::kv
