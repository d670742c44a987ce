// Keys of blocks that are gone, oldest first, each with a note of 64 bits: what adaptive policies remember. O(1) an
// operation amortised; about 40 bytes a key.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <optional>

#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

class GhostQueue {
 public:
  // More than `capacity` keys push the oldest out.
  explicit GhostQueue(std::int64_t capacity) : capacity_(capacity), order_(capacity + 1, 1) {
    entries_.resize(static_cast<std::size_t>(capacity) + 1);
    place_.reserve(static_cast<std::size_t>(capacity) + 1);
    for (std::int64_t i = capacity; i >= 0; --i) unused_.push_back(static_cast<BlockId>(i));
  }

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(place_.size()); }
  [[nodiscard]] bool contains(std::uint64_t key) const { return place_.contains(key); }

  // The key is not in it.
  void push(std::uint64_t key, std::int64_t note = 0) {
    const BlockId at = unused_.back();
    if (!place_.emplace(key, at).second) return;
    unused_.pop_back();
    entries_[at] = {key, note};
    order_.push_youngest(0, at);
    if (size() > capacity_) pop_oldest();
  }
  // Its note, none if it is not there.
  std::optional<std::int64_t> remove(std::uint64_t key) {
    const auto found = place_.find(key);
    if (found == place_.end()) return std::nullopt;
    const BlockId at = found->second;
    place_.erase(found);
    order_.remove(at);
    unused_.push_back(at);
    return entries_[at].note;
  }
  void pop_oldest() {
    if (!order_.empty(0)) remove(entries_[order_.oldest(0)].key);
  }

 private:
  struct Entry {
    std::uint64_t key = 0;
    std::int64_t note = 0;
  };
  // Keys may be small consecutive numbers.
  struct Mix {
    using is_avalanching = void;  // NOLINT(readability-identifier-naming): the name that Boost looks for
    std::size_t operator()(std::uint64_t key) const {
      key = (key ^ (key >> 32)) * 0x9e3779b97f4a7c15ULL;
      key = (key ^ (key >> 29)) * 0xbf58476d1ce4e5b9ULL;
      return key ^ (key >> 32);
    }
  };
  std::int64_t capacity_;
  SlotLists order_;
  std::vector<Entry> entries_;
  std::vector<BlockId> unused_;
  boost::unordered_flat_map<std::uint64_t, BlockId, Mix> place_;
};

}  // namespace blockyard::kv
