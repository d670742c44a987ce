// One tier below the GPU: contents by key, in blocks that an eviction policy gives up when it is full. Nothing in it is
// ever held: a content that goes while it is read has been read. Law: size <= capacity. Cost: O(1) a block beside the
// policy's; about 150 bytes a block that was ever used.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/base/check.h"
#include "sim/kv/eviction/eviction.h"

namespace blockyard::kv {

class TierStore {
 public:
  struct Entry {
    Reference reference;
    SimTime ready;  // when it has arrived
  };

  // `policy` has slots for `capacity` blocks.
  TierStore(std::int64_t capacity, std::unique_ptr<Eviction> policy)
      : capacity_(capacity), policy_(std::move(policy)) {}

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(slot_of_.size()); }
  [[nodiscard]] bool contains(std::uint64_t key) const { return slot_of_.contains(key); }
  // When it has arrived.
  [[nodiscard]] SimTime ready(std::uint64_t key) const { return entries_[slot_of_.at(key)].ready; }

  // It was asked for again; it is there.
  void touch(const Reference& reference) {
    const BlockId slot = slot_of_.at(reference.key);
    const Eviction::Entry entry{slot, reference};
    policy_->hit({&entry, 1});
    policy_->hold({&slot, 1});
    policy_->let_go({&slot, 1});
  }
  // It is not there; it arrives at `ready`. Gives what had to go for it. Nothing is kept at capacity 0.
  std::optional<Entry> insert(const Reference& reference, SimTime ready) {
    if (capacity_ == 0) return std::nullopt;
    std::optional<Entry> gone;
    if (size() == capacity_) {
      out_.clear();
      policy_->evict(1, out_);
      gone = drop(out_.front());
    }
    BlockId slot = 0;
    if (unused_.empty()) {
      slot = static_cast<BlockId>(entries_.size());
      entries_.emplace_back();
    } else {
      slot = unused_.back();
      unused_.pop_back();
    }
    entries_[slot] = {reference, ready};
    const bool is_new = slot_of_.emplace(reference.key, slot).second;
    CHECK_LAW(is_new, "a block at depth {} is put into a tier that has it", reference.depth);
    const Eviction::Entry entry{slot, reference};
    policy_->enter({&entry, 1});
    policy_->let_go({&slot, 1});
    return gone;
  }
  // Drops those whose time is over; gives how many.
  std::int64_t expire(SimTime now) {
    out_.clear();
    policy_->expire(now, out_);
    for (const BlockId slot : out_) drop(slot);
    return static_cast<std::int64_t>(out_.size());
  }

 private:
  Entry drop(BlockId slot) {
    slot_of_.erase(entries_[slot].reference.key);
    unused_.push_back(slot);
    return entries_[slot];
  }

  std::int64_t capacity_;
  std::unique_ptr<Eviction> policy_;
  std::vector<Entry> entries_;  // by slot
  std::vector<BlockId> unused_;
  boost::unordered_flat_map<std::uint64_t, BlockId> slot_of_;
  std::vector<BlockId> out_;  // scratch
};

}  // namespace blockyard::kv
