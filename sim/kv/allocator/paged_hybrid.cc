#include "sim/kv/allocator/paged_hybrid.h"

#include <algorithm>

namespace blockyard::kv {
PagedHybrid::PagedHybrid(Blocks blocks, std::int64_t block_pieces, const std::vector<BlockTables>& tables,
                         Tokens longest_chunk)
    : Allocator(Tokens(0)), block_pieces_(block_pieces), longest_chunk_(longest_chunk), total_(blocks), free_(blocks) {
  for (const BlockTables& t : tables) {
    const std::int64_t used = t.pieces * std::max<std::int64_t>(1, t.block.count());
    CHECK_LAW(t.count > 0 && used <= t.count * block_pieces, "{} pieces in {} blocks of {}", used, t.count,
              block_pieces);
    kinds_.push_back({t, 0, 0});
  }
  CHECK_LAW(!kinds_.empty(), "no block table for {} blocks", blocks.count());
}

std::int64_t PagedHybrid::most_held(Tokens end) const {
  std::int64_t sum = 0;
  for (const Kind& kind : kinds_) sum += kv::most_held(kind.tables, end, longest_chunk_) * kind.tables.count;
  return sum;
}

std::string PagedHybrid::why_never(const SequenceNeed& need) const {
  const std::int64_t most = most_held(need.true_end);
  if (most <= total_.count()) return "";
  std::int64_t tables = 0;
  for (const Kind& kind : kinds_) tables += kind.tables.count;
  return fmt::format("needs {} blocks in {} tables, the pool has {}", most, tables, total_.count());
}

// What a sequence takes from `from` tokens to `to`, less what it frees between two moves of its windows.
std::int64_t PagedHybrid::blocks(Tokens from, Tokens to, Tokens moved_from, Tokens moved_to) const {
  std::int64_t sum = 0;
  for (const Kind& kind : kinds_) {
    const BlockTables& t = kind.tables;
    sum += t.count * (taken_at(t, to) - taken_at(t, from) - freed_at(t, moved_to) + freed_at(t, moved_from));
  }
  return sum;
}

std::int64_t PagedHybrid::held_grains(SequenceId id) const {
  return blocks(Tokens(0), written(id), Tokens(0), held_[index_of(id)].moved);
}

Tokens PagedHybrid::largest_free() const {
  std::int64_t fits = 0;  // by doubling and halving: O(log tokens), and only reports ask
  for (std::int64_t step = std::int64_t{1} << 40; step > 0; step /= 2) {
    if (blocks(Tokens(0), Tokens(fits + step), Tokens(0), Tokens(0)) <= free_.count()) fits += step;
  }
  return Tokens(fits);
}

// Of all tables.
Tokens PagedHybrid::next_change(Tokens computed) const {
  std::int64_t next = INT64_MAX;
  for (const Kind& kind : kinds_) next = std::min(next, kv::next_change(kind.tables, computed));
  return Tokens(next);
}

std::int64_t PagedHybrid::demand(SequenceId id, Tokens total) const {
  const Tokens from = written(id);
  return total == from ? 0 : blocks(from, total, held_[index_of(id)].moved, from);
}

std::int64_t PagedHybrid::decode_demand() const {
  std::int64_t sum = 0;
  due_.for_each_due(cohort(), decode_steps(),
                    [&](const DueQueue::Entry& entry) { sum += demand(entry.id, written(entry.id) + Tokens(1)); });
  return sum;
}

void PagedHybrid::change(Held& held, Tokens from, Tokens to) {
  for (Kind& kind : kinds_) {
    const BlockTables& t = kind.tables;
    const std::int64_t taken = taken_at(t, to) - taken_at(t, from);
    const std::int64_t freed = freed_at(t, from) - freed_at(t, held.moved);
    kind.taken += taken;
    kind.freed += freed;
    windows_moved_ += freed * t.count;
    free_ += Blocks((freed - taken) * t.count);
  }
  held.moved = from;
}

Grant PagedHybrid::do_admit(SequenceId id, const SequenceNeed& /*need*/, Tokens first) {
  if (blocks(Tokens(0), first, Tokens(0), Tokens(0)) > free_.count()) {
    moved_at_refusal_ = windows_moved_;
    return Grant::no_space;
  }
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  held_[index_of(id)] = {admissions_++, -1, Tokens(0)};
  change(held_[index_of(id)], Tokens(0), first);
  return Grant::granted;
}

Grant PagedHybrid::do_grow(SequenceId id, Tokens from, Tokens to) {
  if (to == from) return Grant::granted;
  if (demand(id, to) > free_.count()) return Grant::no_space;
  change(held_[index_of(id)], from, to);
  return Grant::granted;
}

void PagedHybrid::do_release(SequenceId id, Tokens written) {
  const Tokens moved = held_[index_of(id)].moved;
  for (Kind& kind : kinds_) {
    const std::int64_t taken = taken_at(kind.tables, written);
    const std::int64_t freed = freed_at(kind.tables, moved);
    kind.taken -= taken;
    kind.freed -= freed;
    free_ += Blocks((taken - freed) * kind.tables.count);
  }
}

void PagedHybrid::schedule(SequenceId id, Tokens written) {
  Held& held = held_[index_of(id)];
  const bool overdue = std::ranges::any_of(kinds_, [&](const Kind& kind) {  // its last chunk has moved a window on
    return freed_at(kind.tables, written) > freed_at(kind.tables, held.moved);
  });
  held.due = decode_steps() + (overdue ? 0 : (next_change(written) - written).count());
  due_.add(cohort(), {held.due, held.order, id});
}

void PagedHybrid::do_start_decoding(SequenceId id, Tokens written) { schedule(id, written); }

void PagedHybrid::do_stop_decoding(SequenceId id, Tokens /*written*/) {
  Held& held = held_[index_of(id)];
  due_.remove(cohort(), {held.due, held.order, id});
  held.due = -1;
}

// One after the other, in order of admission: what one frees the next may take.
Grant PagedHybrid::do_grow_decoding(std::span<const Growth> others) {
  gather_growing(
      due_, cohort(), decode_steps(), others, [this](SequenceId id) { return held_[index_of(id)].order; },
      [this](SequenceId id) { return written(id); }, growing_);
  std::int64_t free = free_.count();
  for (const Growing& g : growing_) {
    free -= demand(g.id, g.to);
    if (free < 0) return Grant::no_space;
  }
  for (const Growing& g : growing_) {
    Held& held = held_[index_of(g.id)];
    change(held, g.from, g.to);
    if (held.due < 0) continue;  // one of `others`
    due_.remove(cohort(), {held.due, held.order, g.id});
    held.due += (next_change(g.to) - g.from).count();
    due_.add(cohort(), {held.due, held.order, g.id});
  }
  return Grant::granted;
}

MemoryPartition PagedHybrid::partition() const {
  MemoryPartition p;
  std::int64_t held = 0;
  for (const Kind& kind : kinds_) {
    const BlockTables& t = kind.tables;
    const std::int64_t rows = kind.taken - kind.freed;  // a block in each table
    std::int64_t used = rows * t.pieces;
    if (t.block > Tokens(0)) {
      used *= t.block.count();
      const std::int64_t live = (total_written().count() - kind.freed * t.block.count()) * t.pieces;
      p[MemoryState::live] += live;
      p[MemoryState::tail] += used - live;
    } else {
      p[MemoryState::live] += used;
    }
    p[MemoryState::padding] += rows * t.count * block_pieces_ - used;
    held += rows * t.count;
  }
  CHECK_LAW(Blocks(held) + free_ == total_, "{} blocks held + {} free != {}", held, free_.count(), total_.count());
  p[MemoryState::free] = free_.count() * block_pieces_;
  return p;
}

}  // namespace blockyard::kv
