// Whether what was cached is worth keeping: a filter before an eviction policy, which sees admitted blocks alone. A
// block that is not admitted goes before all that are, the one let go longest ago first; until room is needed it is
// found like any other, so that admission never empties memory that nobody wants.
//   second_hit  admitted are contents asked for a second time while they are cached, or while it is remembered that
//               they went: as many are as there are blocks
//   tinylfu     where room is needed, the oldest newcomer competes with the policy's next victim; the one asked for
//               more often lately (frequency_sketch.h) stays, on a draw the newcomer goes. A policy with no block to
//               give takes all newcomers first.
// Not for policies that know the future or let blocks go by their age. Cost: O(1) a block beside the policy's own; 80
// bytes a block. Sources: second_hit: Maggs & Sitaraman, Algorithmic Nuggets in Content Delivery, CCR 2015
// (cache on second hit); tinylfu: Einziger, Friedman & Manes, ACM Transactions on Storage 2017.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/base/named.h"
#include "sim/kv/eviction/eviction.h"
#include "sim/kv/eviction/frequency_sketch.h"
#include "sim/kv/eviction/ghost_queue.h"
#include "sim/kv/eviction/slot_lists.h"

namespace blockyard::kv {

enum class CacheAdmission { always, second_hit, tinylfu };

[[nodiscard]] NameDocs cache_admissions();
[[nodiscard]] std::optional<CacheAdmission> find_cache_admission(std::string_view name);

class FilteredEviction final : public Eviction {
 public:
  // `rule` is not `always`: that is the policy by itself.
  FilteredEviction(CacheAdmission rule, std::unique_ptr<Eviction> policy, const PolicyOptions& options);

  void enter(std::span<const Entry> blocks) override;
  void hit(std::span<const Entry> blocks) override;
  void hold(std::span<const BlockId> blocks) override;
  void let_go(std::span<const BlockId> blocks) override;
  void evict(std::size_t count, std::vector<BlockId>& out) override;
  void expire(SimTime now, std::vector<BlockId>& out) override { policy_->expire(now, out); }
  void want(std::span<const std::uint64_t> keys) override { policy_->want(keys); }
  void unwant(std::span<const std::uint64_t> keys) override { policy_->unwant(keys); }

 private:
  // entering: admitted while nobody held it; the policy takes it for held already, so that the hold that follows is not
  // news.
  enum class Place : std::uint8_t { gone, newcomer, entering, admitted };
  struct Block {
    Place place = Place::gone;
    bool idle = false;
    Reference reference;  // as it entered, or as a newcomer was asked for last
  };

  void admit(BlockId slot, const Reference& reference);
  void admit_all_newcomers();
  [[nodiscard]] BlockId compete();
  [[nodiscard]] BlockId give_up_newcomer(BlockId slot);

  CacheAdmission rule_;
  std::unique_ptr<Eviction> policy_;
  std::vector<Block> blocks_;  // by slot
  SlotLists newcomers_;        // idle ones
  GhostQueue remembered_;      // second_hit: contents that went
  FrequencySketch asked_;      // tinylfu
  std::int64_t admitted_idle_ = 0;
  BlockId challenged_ = kNoBlock;  // tinylfu: what the policy has given up, and no newcomer has beaten yet
  std::vector<Entry> entries_;     // scratch
  std::vector<BlockId> slots_;     // scratch
};

}  // namespace blockyard::kv
