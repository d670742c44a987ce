// What of a sequence PagedCached has, and whether that has changed.
#include <algorithm>

#include "sim/kv/allocator/paged_cached.h"

namespace blockyard::kv {

Tokens PagedCached::find_prefix(SequenceId id, RequestId request, Tokens length) {
  if (!caching_) return Tokens(0);
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  Held& held = held_[index_of(id)];
  if (!held.has_path) make_path(held, request);
  const auto limit = static_cast<std::int32_t>((length.count() - 1) / block_size_.count());
  held.looked_up = limit;
  held.hit = held.hit_free = 0;
  held.missing = kNoNode;
  held.looked_at = evictions_;
  held.below = held.fetched = 0;
  held.arrives = SimTime(0);
  held.comes_later = false;
  for (const Piece& piece : held.path) {
    for (const std::int32_t end = std::min(piece.end, limit); held.hit < end; ++held.hit) {
      const BlockId block = tree_.find(piece.node, held.hit);
      if (block == kNoBlock) {
        held.missing = piece.node;
        if (tiers_ != nullptr) look_below(held, limit);
        return block_size_ * (held.hit + held.fetched);
      }
      held.hit_free += pool_.references(block) == 0 ? 1 : 0;
      if (tiers_ != nullptr) held.arrives = std::max(held.arrives, tiers_->arrival(block));
    }
  }
  held.comes_later = held.arrives > now_;
  return block_size_ * held.hit;
}

// Where the GPU's blocks end.
void PagedCached::look_below(Held& held, std::int32_t limit) {
  const auto end = static_cast<std::size_t>(std::min(limit, held.path_blocks));
  const auto begin = static_cast<std::size_t>(held.hit);
  const LowerTiers::Found found = tiers_->find(std::span(held.keys).subspan(begin, end - begin), held.hit);
  held.below = found.blocks;
  held.fetched = found.worth_fetching;
  held.comes_later = held.fetched > 0 || held.arrives > now_;
}

Tokens PagedCached::cached_prefix(SequenceId id, RequestId request, Tokens length) {
  if (!caching_) return Tokens(0);
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  Held& held = held_[index_of(id)];
  if (!held.has_path) make_path(held, request);
  const bool first = !held.watched;
  if (first) watch_.begin(held.path);
  held.watched = true;
  const std::uint64_t changes = watch_.changes(held.path);
  if (!first && changes == held.watched_at) return block_size_ * held.cached;
  held.watched_at = changes;
  held.cached = 0;
  const auto limit = static_cast<std::int32_t>((length.count() - 1) / block_size_.count());
  for (const Piece& piece : held.path) {
    const std::int32_t end = std::min(piece.end, limit);
    while (held.cached < end && tree_.find(piece.node, held.cached) != kNoBlock) ++held.cached;
    if (held.cached < end) break;
  }
  return block_size_ * held.cached;
}

void PagedCached::watch_no_more(Held& held) {
  if (held.watched) watch_.end(held.path);
  held.watched = false;
}

// It grows when somebody publishes the block that was missing; it shrinks when one of its free blocks is evicted. Then
// an admission may take less than before: the rest of the free ones is no longer counted.
bool PagedCached::admission_changed(SequenceId id) const {
  if (index_of(id) >= held_.size()) return false;
  const Held& held = held_[index_of(id)];
  if (held.below > 0) return true;  // what is worth fetching changes with time
  if (held.hit_free > 0 && held.looked_at != evictions_) return true;
  return held.missing != kNoNode && tree_.find(held.missing, held.hit) != kNoBlock;
}

}  // namespace blockyard::kv
