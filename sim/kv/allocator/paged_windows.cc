#include "sim/kv/allocator/paged_windows.h"

#include <algorithm>
#include <utility>

namespace blockyard::kv {

PagedWindows::PagedWindows(Blocks blocks, Tokens block_size, std::vector<BlockTables> tables, Tokens longest_chunk)
    : Allocator(Tokens(0)),
      block_size_(block_size),
      tables_(std::move(tables)),
      longest_chunk_(longest_chunk),
      total_(blocks),
      free_(blocks) {
  for (const BlockTables& t : tables_) width_ += t.count;
  CHECK_LAW(width_ > 0, "no block table for blocks of {} tokens", block_size.count());
}

// Before a step frees what has left the window, a table holds the window, less the token that comes next, and a chunk;
// both may lie across one block more.
std::int64_t PagedWindows::most_held(Tokens end) const {
  std::int64_t blocks = 0;
  for (const BlockTables& t : tables_) {
    Blocks most = blocks_for(end, block_size_);
    if (t.window > Tokens(0)) {
      most = std::min(most, blocks_for(t.window - Tokens(1) + longest_chunk_, block_size_) + Blocks(1));
    }
    blocks += most.count() * t.count;
  }
  return blocks;
}

std::string PagedWindows::why_never(const SequenceNeed& need) const {
  const std::int64_t blocks = most_held(need.true_end);
  if (blocks <= total_.count()) return "";
  return fmt::format("needs {} blocks of {} tokens in {} tables, the pool has {}", blocks, block_size_.count(), width_,
                     total_.count());
}

Blocks PagedWindows::taken(Tokens from, Tokens to) const {
  return Blocks((blocks_for(to, block_size_) - blocks_for(from, block_size_)).count() * width_);
}

// Freed so far by a sequence that grows when `computed` tokens are computed.
Blocks PagedWindows::freed_at(Tokens computed) const {
  std::int64_t blocks = 0;
  for (const BlockTables& t : tables_) {
    const std::int64_t out = (computed - t.window).count() + 1;
    if (t.window > Tokens(0) && out > 0) blocks += out / block_size_.count() * t.count;
  }
  return Blocks(blocks);
}

// The least number of tokens, from `computed` on, whose next token takes or frees a block.
Tokens PagedWindows::next_change(Tokens computed) const {
  const std::int64_t size = block_size_.count();
  const auto up = [&](std::int64_t n) { return (n + size - 1) / size * size; };
  std::int64_t next = up(computed.count());
  for (const BlockTables& t : tables_) {
    if (t.window == Tokens(0)) continue;
    const std::int64_t before = t.window.count() - 1;  // tokens that stay
    next = std::min(next, before + std::max(size, up(computed.count() - before)));
  }
  return Tokens(next);
}

std::int64_t PagedWindows::demand(SequenceId id, Tokens total) const {
  const Tokens from = written(id);
  if (total == from) return 0;
  return (taken(from, total) - (freed_at(from) - held_[index_of(id)].freed)).count();
}

std::int64_t PagedWindows::decode_demand() const {
  std::int64_t sum = 0;
  due_.for_each_due(decode_steps(),
                    [&](const DueQueue::Entry& entry) { sum += demand(entry.id, written(entry.id) + Tokens(1)); });
  return sum;
}

void PagedWindows::change(Held& held, Tokens from, Tokens to) {
  const Blocks freed = freed_at(from) - held.freed;
  held.freed += freed;
  freed_ += freed;
  free_ += freed - taken(from, to);
}

Grant PagedWindows::do_admit(SequenceId id, const SequenceNeed& /*need*/, Tokens first) {
  const Blocks blocks = taken(Tokens(0), first);
  if (blocks > free_) return Grant::no_space;
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  held_[index_of(id)] = {admissions_++, -1, Blocks(0)};
  free_ -= blocks;
  return Grant::granted;
}

Grant PagedWindows::do_grow(SequenceId id, Tokens from, Tokens to) {
  if (to == from) return Grant::granted;
  if (demand(id, to) > free_.count()) return Grant::no_space;
  change(held_[index_of(id)], from, to);
  return Grant::granted;
}

void PagedWindows::do_release(SequenceId id, Tokens written) {
  const Held& held = held_[index_of(id)];
  free_ += taken(Tokens(0), written) - held.freed;
  freed_ -= held.freed;
}

void PagedWindows::schedule(SequenceId id, Tokens written) {
  Held& held = held_[index_of(id)];
  const bool overdue = freed_at(written) > held.freed;  // its last chunk has pushed blocks out of a window
  held.due = decode_steps() + (overdue ? 0 : (next_change(written) - written).count());
  due_.add({held.due, held.order, id});
}

void PagedWindows::do_start_decoding(SequenceId id, Tokens written) { schedule(id, written); }

void PagedWindows::do_stop_decoding(SequenceId id, Tokens /*written*/) {
  Held& held = held_[index_of(id)];
  due_.remove({held.due, held.order, id});
  held.due = -1;
}

// One after the other, in order of admission: what one frees the next may take.
Grant PagedWindows::do_grow_decoding(std::span<const Growth> others) {
  growing_.clear();
  due_.for_each_due(decode_steps(), [&](const DueQueue::Entry& entry) {
    const Tokens from = written(entry.id);
    growing_.push_back({entry.order, entry.id, from, from + Tokens(1)});
  });
  for (const Growth& growth : others) {
    const Tokens from = written(growth.id);
    if (growth.total > from) growing_.push_back({held_[index_of(growth.id)].order, growth.id, from, growth.total});
  }
  std::ranges::sort(growing_, {}, &Growing::order);
  std::int64_t free = free_.count();
  for (const Growing& g : growing_) {
    free -= demand(g.id, g.to);
    if (free < 0) return Grant::no_space;
  }
  for (const Growing& g : growing_) {
    Held& held = held_[index_of(g.id)];
    change(held, g.from, g.to);
    if (held.due < 0) continue;  // one of `others`
    due_.remove({held.due, held.order, g.id});
    held.due += (next_change(g.to) - g.from).count();
    due_.add({held.due, held.order, g.id});
  }
  return Grant::granted;
}

MemoryPartition PagedWindows::partition() const {
  const std::int64_t size = block_size_.count();
  MemoryPartition p;
  p[MemoryState::live] = total_written().count() * width_ - freed_.count() * size;
  p[MemoryState::free] = free_.count() * size;
  p[MemoryState::tail] = total_pieces() - p[MemoryState::live] - p[MemoryState::free];
  return p;
}

}  // namespace blockyard::kv
