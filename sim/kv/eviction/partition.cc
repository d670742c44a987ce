#include "sim/kv/eviction/partition.h"

#include <algorithm>
#include <utility>

namespace blockyard::kv {

PartitionedEviction::PartitionedEviction(const PartitionOptions& parts, std::int64_t slots, MakePolicy make)
    : options_(parts), make_(std::move(make)), part_of_(static_cast<std::size_t>(slots)) {
  add_part();
  if (options_.quota_blocks == 0) add_part();
}

std::uint32_t PartitionedEviction::add_part() {
  parts_.push_back({make_(), 0});
  return static_cast<std::uint32_t>(parts_.size()) - 1;
}

std::uint32_t PartitionedEviction::part_for(const Reference& reference) {
  if (std::int64_t{reference.depth} < options_.pinned_blocks) return kPinned;
  if (options_.quota_blocks == 0) return kPinned + 1;
  const auto [entry, is_new] = of_tenant_.try_emplace(reference.tenant, 0);
  if (is_new) entry->second = add_part();
  return entry->second;
}

void PartitionedEviction::enter(std::span<const Entry> blocks) {
  for (const Entry& entry : blocks) part_of_[entry.slot] = part_for(entry.reference);
  in_stretches(
      blocks, [this](const Entry& entry) { return part_of_[entry.slot]; },
      [this](std::uint32_t part, std::span<const Entry> some) { parts_[part].policy->enter(some); });
}

void PartitionedEviction::hit(std::span<const Entry> blocks) {
  in_stretches(
      blocks, [this](const Entry& entry) { return part_of_[entry.slot]; },
      [this](std::uint32_t part, std::span<const Entry> some) { parts_[part].policy->hit(some); });
}

void PartitionedEviction::hold(std::span<const BlockId> blocks) {
  in_stretches(
      blocks, [this](BlockId slot) { return part_of_[slot]; },
      [this](std::uint32_t part, std::span<const BlockId> some) {
        parts_[part].policy->hold(some);
        parts_[part].idle -= std::ssize(some);
      });
}

void PartitionedEviction::let_go(std::span<const BlockId> blocks) {
  in_stretches(
      blocks, [this](BlockId slot) { return part_of_[slot]; },
      [this](std::uint32_t part, std::span<const BlockId> some) {
        parts_[part].policy->let_go(some);
        parts_[part].idle += std::ssize(some);
        if (options_.quota_blocks > 0 && part != kPinned && parts_[part].idle > options_.quota_blocks) {
          grown_.push_back(part);
        }
      });
}

// As many at once as leave the largest part as large as the next.
void PartitionedEviction::evict(std::size_t count, std::vector<BlockId>& out) {
  while (count > 0) {
    Part* largest = nullptr;
    std::int64_t next = 0;
    for (std::size_t i = kPinned + 1; i < parts_.size(); ++i) {
      if (largest == nullptr || parts_[i].idle > largest->idle) {
        next = largest == nullptr ? 0 : largest->idle;
        largest = &parts_[i];
      } else {
        next = std::max(next, parts_[i].idle);
      }
    }
    if (largest == nullptr || largest->idle == 0) {
      parts_[kPinned].policy->evict(count, out);
      parts_[kPinned].idle -= static_cast<std::int64_t>(count);
      return;
    }
    const auto most = static_cast<std::size_t>(std::max<std::int64_t>(1, largest->idle - next));
    const std::size_t n = std::min(count, most);
    largest->policy->evict(n, out);
    largest->idle -= static_cast<std::int64_t>(n);
    count -= n;
  }
}

void PartitionedEviction::expire(SimTime now, std::vector<BlockId>& out) {
  if (options_.expires) {
    for (Part& part : parts_) {
      const std::size_t before = out.size();
      part.policy->expire(now, out);
      part.idle -= static_cast<std::int64_t>(out.size() - before);
    }
  }
  for (const std::uint32_t grown : grown_) {
    Part& part = parts_[grown];
    const std::int64_t beyond = part.idle - options_.quota_blocks;
    if (beyond <= 0) continue;
    part.policy->evict(static_cast<std::size_t>(beyond), out);
    part.idle -= beyond;
  }
  grown_.clear();
}

void PartitionedEviction::want(std::span<const std::uint64_t> keys) {
  for (Part& part : parts_) part.policy->want(keys);
}
void PartitionedEviction::unwant(std::span<const std::uint64_t> keys) {
  for (Part& part : parts_) part.policy->unwant(keys);
}

}  // namespace blockyard::kv
