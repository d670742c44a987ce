#include "sim/kv/allocator/paged_cached.h"

#include <algorithm>
#include <utility>

namespace blockyard::kv {

PagedCached::PagedCached(Blocks blocks, Tokens block_size, bool caching, ContentSource* contents)
    : Allocator(block_size * (blocks.count() - 1)),
      block_size_(block_size),
      caching_(caching),
      contents_(contents),
      pool_(blocks),
      tree_(block_size),
      buckets_(static_cast<std::size_t>(block_size.count())) {
  CHECK_LAW(!caching || contents != nullptr, "a prefix cache of {} blocks without contents", blocks.count());
}

std::string PagedCached::why_never(const SequenceNeed& need) const {
  const Blocks blocks = blocks_for(need.true_end, block_size_);
  if (blocks <= pool_.capacity()) return "";
  return fmt::format("needs {} blocks of {} tokens, the pool has {}", blocks.count(), block_size_.count(),
                     pool_.capacity().count());
}

void PagedCached::make_path(Held& held, RequestId request) {
  content_.clear();
  contents_->content_of(request, content_);
  tree_.intern(content_, held.path);
  held.path_blocks = held.path.empty() ? 0 : held.path.back().end;
  held.has_path = true;
}

Tokens PagedCached::find_prefix(SequenceId id, RequestId request, Tokens length) {
  if (!caching_) return Tokens(0);
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  Held& held = held_[index_of(id)];
  if (!held.has_path) make_path(held, request);
  const auto limit = static_cast<std::int32_t>((length.count() - 1) / block_size_.count());
  held.hit = held.hit_free = 0;
  held.missing = kNoNode;
  held.looked_at = evictions_;
  for (const Piece& piece : held.path) {
    for (const std::int32_t end = std::min(piece.end, limit); held.hit < end; ++held.hit) {
      const BlockId block = tree_.find(piece.node, held.hit);
      if (block == kNoBlock) {
        held.missing = piece.node;
        return block_size_ * held.hit;
      }
      held.hit_free += pool_.references(block) == 0 ? 1 : 0;
    }
  }
  return block_size_ * held.hit;
}

// It grows when somebody publishes the block that was missing; it shrinks when one of its free blocks is evicted. Then
// an admission may take less than before: the rest of the free ones is no longer counted.
bool PagedCached::prefix_changed(SequenceId id) const {
  if (index_of(id) >= held_.size()) return false;
  const Held& held = held_[index_of(id)];
  if (held.hit_free > 0 && held.looked_at != evictions_) return true;
  return held.missing != kNoNode && tree_.find(held.missing, held.hit) != kNoBlock;
}

void PagedCached::forget(SequenceId id) {
  if (index_of(id) >= held_.size()) return;
  Held& held = held_[index_of(id)];
  tree_.drop(held.path);
  held.has_path = false;
  held.path_blocks = 0;
  held.hit = held.hit_free = 0;
  held.missing = kNoNode;
}

std::int64_t PagedCached::decode_demand() const { return static_cast<std::int64_t>(buckets_[cursor_].size()); }

std::int64_t PagedCached::demand(SequenceId id, Tokens total) const {
  return blocks_for(total, block_size_).count() - static_cast<std::int64_t>(held_[index_of(id)].table.size());
}

std::int64_t PagedCached::admission_demand(SequenceId id, const SequenceNeed& /*need*/, Tokens first) const {
  const std::int64_t blocks = blocks_for(first, block_size_).count();
  if (index_of(id) >= held_.size()) return blocks;
  return blocks - held_[index_of(id)].hit + held_[index_of(id)].hit_free;
}

Grant PagedCached::do_admit(SequenceId id, const SequenceNeed& need, Tokens first) {
  if (admission_demand(id, need, first) > available()) return Grant::no_space;
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  Held& held = held_[index_of(id)];
  held.order = admissions_++;
  std::int32_t found = 0;
  for (const Piece& piece : held.path) {
    for (const std::int32_t end = std::min(piece.end, held.hit); found < end; ++found) {
      const BlockId block = tree_.find(piece.node, found);
      if (pool_.references(block) == 0) --cached_;
      pool_.touch(block);
      held.table.push_back(block);
    }
  }
  held.published = held.hit;
  table_blocks_ += held.hit;
  extend(held, blocks_for(first, block_size_).count() - held.hit);
  publish(held, first);
  held.hit = held.hit_free = 0;
  return Grant::granted;
}

// Takes blocks from the free queue; what they held is evicted.
void PagedCached::extend(Held& held, std::int64_t blocks) {
  table_blocks_ += blocks;
  for (; blocks > 0; --blocks) {
    const BlockId id = pool_.take();
    BlockContent& content = pool_.content(id);
    if (content.node != kNoNode) {
      tree_.withdraw(content.node, content.position, id);
      content.node = kNoNode;
      --cached_;
      ++evictions_;
    }
    held.table.push_back(id);
  }
}

// Registers the full blocks of the first `total` tokens that are not yet.
void PagedCached::publish(Held& held, Tokens total) {
  if (!caching_) return;
  const auto full = std::min(held.path_blocks, static_cast<std::int32_t>(total.count() / block_size_.count()));
  if (held.published >= full) return;
  // Nearly always within the last piece: the one before it was found or published at admission.
  std::size_t piece = held.path.size() - 1;
  while (piece > 0 && held.path[piece - 1].end > held.published) --piece;
  for (; held.published < full; ++held.published) {
    if (held.published >= held.path[piece].end) ++piece;
    const BlockId id = held.table[static_cast<std::size_t>(held.published)];
    pool_.content(id) = {held.path[piece].node, held.published};
    tree_.publish(held.path[piece].node, held.published, id);
  }
}

Grant PagedCached::do_grow(SequenceId id, Tokens /*from*/, Tokens to) {
  const std::int64_t blocks = demand(id, to);
  if (blocks > available()) return Grant::no_space;
  Held& held = held_[index_of(id)];
  extend(held, blocks);
  publish(held, to);
  return Grant::granted;
}

void PagedCached::do_release(SequenceId id, Tokens /*written*/) {
  Held& held = held_[index_of(id)];
  for (std::size_t i = held.table.size(); i-- > 0;) {
    const BlockId block = held.table[i];
    if (pool_.give_back(block) && pool_.content(block).node != kNoNode) ++cached_;
  }
  table_blocks_ -= static_cast<std::int64_t>(held.table.size());
  held.table.clear();
  held.published = 0;
}

void PagedCached::do_start_decoding(SequenceId id, Tokens written) {
  std::vector<SequenceId>& members = bucket(written);
  auto at = members.end();
  while (at != members.begin() && held_[index_of(*std::prev(at))].order > held_[index_of(id)].order) --at;
  members.insert(at, id);
}

void PagedCached::do_stop_decoding(SequenceId id, Tokens written) {
  std::vector<SequenceId>& members = bucket(written);
  const auto found = std::find(members.begin(), members.end(), id);
  CHECK_LAW(found != members.end(), "sequence {} is not in its bucket", index_of(id));
  members.erase(found);
}

// In order of admission, as the engine does: who stands at a block's end takes one, who fills one publishes it, and the
// others take and publish what they need. With block_size 1 the same sequences take and publish.
Grant PagedCached::do_grow_decoding(std::span<const Growth> others) {
  std::int64_t blocks = decode_demand();
  for (const Growth& growth : others) blocks += demand(growth.id, growth.total);
  if (blocks > available()) return Grant::no_space;

  const std::vector<SequenceId>& takers = buckets_[cursor_];
  const std::size_t filling = (cursor_ + buckets_.size() - 1) % buckets_.size();
  const std::vector<SequenceId>& publishers = buckets_[filling];
  const auto order = [&](SequenceId id) { return held_[index_of(id)].order; };
  auto take = takers.begin();
  auto fill = publishers.begin();
  const auto run_until = [&](std::uint64_t limit) {
    for (;;) {
      const std::uint64_t next_take = take == takers.end() ? UINT64_MAX : order(*take);
      const std::uint64_t next_fill = fill == publishers.end() ? UINT64_MAX : order(*fill);
      if (std::min(next_take, next_fill) >= limit) return;
      if (next_take <= next_fill) {
        take_one(*take);
        ++take;
      } else {
        publish_one(*fill);
        ++fill;
      }
    }
  };
  for (const Growth& growth : others) {
    run_until(order(growth.id));
    Held& held = held_[index_of(growth.id)];
    extend(held, demand(growth.id, growth.total));
    publish(held, growth.total);
  }
  run_until(UINT64_MAX);
  cursor_ = filling;
  return Grant::granted;
}

void PagedCached::publish_one(SequenceId id) {
  Held& held = held_[index_of(id)];
  publish(held, block_size_ * static_cast<std::int64_t>(held.table.size()));
}

MemoryPartition PagedCached::partition() const {
  const std::int64_t used = pool_.capacity().count() - pool_.free().count();
  MemoryPartition p;
  p[MemoryState::tail] = table_blocks_ * block_size_.count() - total_written().count();
  p[MemoryState::live] = used * block_size_.count() - p[MemoryState::tail];
  p[MemoryState::cached] = cached_ * block_size_.count();
  p[MemoryState::free] = (pool_.free().count() - cached_) * block_size_.count();
  return p;
}

}  // namespace blockyard::kv
