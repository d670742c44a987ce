// Slots ordered by a key that may change: the smallest on top. set and remove O(log n), top O(1); 4 + sizeof(Key) + 4
// bytes a slot that is in it. Four children a node: half the levels of a binary heap, and its children lie side by
// side.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/kv/prefix/content_tree.h"

namespace blockyard::kv {

template <class Key>
class SlotHeap {
 public:
  explicit SlotHeap(std::int64_t slots) : place_(static_cast<std::size_t>(slots), kOut) {
    heap_.reserve(static_cast<std::size_t>(slots));
  }

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] bool contains(BlockId slot) const { return place_[slot] != kOut; }
  [[nodiscard]] BlockId top() const { return heap_.front().slot; }
  [[nodiscard]] const Key& top_key() const { return heap_.front().key; }

  // Puts the slot in, or moves it to where its new key belongs.
  void set(BlockId slot, const Key& key) {
    std::size_t at = place_[slot];
    if (at == kOut) {
      at = heap_.size();
      heap_.push_back({key, slot});
      place_[slot] = static_cast<std::uint32_t>(at);
    } else {
      heap_[at].key = key;
    }
    if (!rise(at)) sink(at);
  }
  void remove(BlockId slot) {
    const std::size_t at = place_[slot];
    place_[slot] = kOut;
    const Entry last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    put(at, last);
    if (!rise(at)) sink(at);
  }

 private:
  static constexpr std::uint32_t kOut = UINT32_MAX;
  static constexpr std::size_t kChildren = 4;
  struct Entry {
    Key key;
    BlockId slot;
  };

  void put(std::size_t at, const Entry& entry) {
    heap_[at] = entry;
    place_[entry.slot] = static_cast<std::uint32_t>(at);
  }
  bool rise(std::size_t at) {
    const Entry entry = heap_[at];
    const std::size_t from = at;
    while (at > 0) {
      const std::size_t parent = (at - 1) / kChildren;
      if (!(entry.key < heap_[parent].key)) break;
      put(at, heap_[parent]);
      at = parent;
    }
    if (at == from) return false;
    put(at, entry);
    return true;
  }
  void sink(std::size_t at) {
    const Entry entry = heap_[at];
    for (;;) {
      const std::size_t first = at * kChildren + 1;
      if (first >= heap_.size()) break;
      std::size_t least = first;
      for (std::size_t c = first + 1; c < heap_.size() && c < first + kChildren; ++c) {
        if (heap_[c].key < heap_[least].key) least = c;
      }
      if (!(heap_[least].key < entry.key)) break;
      put(at, heap_[least]);
      at = least;
    }
    put(at, entry);
  }

  std::vector<Entry> heap_;
  std::vector<std::uint32_t> place_;  // by slot
};

}  // namespace blockyard::kv
