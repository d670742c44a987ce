// Doubly linked lists over slots, in one array: a slot is in at most one of them. O(1) an operation, 8 bytes a slot.
// A list is a ring through its own end mark, which begin-less walks (a hand) may stand on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/kv/prefix/content_tree.h"

namespace blockyard::kv {

class SlotLists {
 public:
  SlotLists(std::int64_t slots, std::uint32_t lists)
      : links_(static_cast<std::size_t>(slots) + lists), ends_(static_cast<BlockId>(slots)) {
    for (BlockId i = 0; i < ends_; ++i) links_[i] = {kNoBlock, kNoBlock};
    for (BlockId i = ends_; i < links_.size(); ++i) links_[i] = {i, i};
  }

  [[nodiscard]] BlockId end(std::uint32_t list) const { return ends_ + list; }
  [[nodiscard]] BlockId older(BlockId at) const { return links_[at].older; }
  [[nodiscard]] BlockId younger(BlockId at) const { return links_[at].younger; }
  [[nodiscard]] BlockId oldest(std::uint32_t list) const { return links_[end(list)].younger; }  // end(list) if empty
  [[nodiscard]] BlockId youngest(std::uint32_t list) const { return links_[end(list)].older; }
  [[nodiscard]] bool empty(std::uint32_t list) const { return oldest(list) == end(list); }
  [[nodiscard]] bool linked(BlockId slot) const { return links_[slot].older != kNoBlock; }

  void push_youngest(std::uint32_t list, BlockId slot) {
    const BlockId mark = end(list);
    const BlockId before = links_[mark].older;
    links_[slot] = {before, mark};
    links_[before].younger = slot;
    links_[mark].older = slot;
  }
  void remove(BlockId slot) {
    const Link link = links_[slot];
    links_[link.older].younger = link.younger;
    links_[link.younger].older = link.older;
    links_[slot] = {kNoBlock, kNoBlock};
  }

 private:
  struct Link {
    BlockId older = kNoBlock;    // towards the oldest; of an end mark: the youngest
    BlockId younger = kNoBlock;  // towards the youngest; of an end mark: the oldest
  };
  std::vector<Link> links_;
  BlockId ends_;
};

}  // namespace blockyard::kv
