#include "sim/kv/allocator/paged_groups.h"

#include <algorithm>

namespace blockyard::kv {

PagedGroups::PagedGroups(Blocks blocks, std::int64_t block_pieces, const std::vector<BlockTables>& tables,
                         Tokens longest_chunk, ContentSource& contents)
    : Allocator(Tokens(0)),
      block_size_(tables.empty() ? Tokens(0) : tables.front().block),
      block_pieces_(block_pieces),
      longest_chunk_(longest_chunk),
      contents_(&contents),
      pool_(blocks),
      table_of_(static_cast<std::size_t>(blocks.count())),
      users_(static_cast<std::size_t>(blocks.count())) {
  for (const BlockTables& row : tables) {
    CHECK_LAW(row.block == block_size_ && row.block > Tokens(0), "tables of {} and {} tokens a block",
              row.block.count(), block_size_.count());
    CHECK_LAW(row.count > 0 && row.pieces % row.count == 0, "{} pieces in {} tables alike", row.pieces, row.count);
    const BlockTables one{row.window, 1, row.block, row.pieces / row.count};
    CHECK_LAW(one.pieces * one.block.count() <= block_pieces, "{} pieces a token in blocks of {}", one.pieces,
              block_pieces);
    for (std::int64_t i = 0; i < row.count; ++i) tables_.push_back({one, ContentTree(block_size_), PrefixWatch()});
    if (row.window > Tokens(0)) windows_.push_back(row.window);
  }
  CHECK_LAW(!tables_.empty() && tables_.size() <= UINT16_MAX, "{} block tables", tables_.size());
  std::ranges::sort(windows_);
  windows_.erase(std::unique(windows_.begin(), windows_.end()), windows_.end());
  const auto whole = std::ranges::find(tables_, Tokens(0), [](const Table& t) { return t.one.window; });
  witness_ = whole == tables_.end() ? 0 : static_cast<std::size_t>(whole - tables_.begin());
}

PagedGroups::Held& PagedGroups::at(SequenceId id) {
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  Held& held = held_[index_of(id)];
  held.rows.resize(tables_.size());
  return held;
}

std::string PagedGroups::why_never(const SequenceNeed& need) const {
  std::int64_t most = 0;
  for (const Table& t : tables_) most += most_held(t.one, need.true_end, longest_chunk_);
  if (most <= total_grains()) return "";
  return fmt::format("needs {} blocks in {} tables, the pool has {}", most, tables_.size(), total_grains());
}

// That of content_.
void PagedGroups::make_path(Held& held) {
  for (std::size_t t = 0; t < tables_.size(); ++t) tables_[t].tree.intern(content_, held.rows[t].path);
  const Path& path = held.rows.front().path;
  held.path_blocks = path.empty() ? 0 : path.back().end;
  held.has_path = true;
}

BlockId PagedGroups::find(const Held& held, std::size_t table, std::int32_t position) const {
  const Path& path = held.rows[table].path;
  const auto piece = std::ranges::upper_bound(path, position, {}, &Piece::end);
  return tables_[table].tree.find(piece->node, position);
}

// In all tables of that window.
bool PagedGroups::found(const Held& held, Tokens window, std::int32_t position) const {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (tables_[t].one.window == window && find(held, t, position) == kNoBlock) return false;
  }
  return true;
}

// Of a table with the first `hit` blocks found: the first one that the next token looks back at.
std::int32_t PagedGroups::first_needed(Tokens window, std::int32_t hit) const {
  if (window == Tokens(0)) return 0;
  const auto needed = static_cast<std::int32_t>(blocks_for(window - Tokens(1), block_size_).count());
  return std::max(0, hit - std::max(1, needed));
}

// Of its first `limit` blocks, in the tables that look back at everything.
std::int32_t PagedGroups::whole_hit(const Held& held, std::int32_t limit) const {
  if (tables_[witness_].one.window > Tokens(0)) return limit;  // there are none
  std::int32_t hit = 0;
  while (hit < limit && found(held, Tokens(0), hit)) ++hit;
  return hit;
}

// Of its first `hit` blocks, in the others. What one window cuts may be too long for another that was looked at before:
// until all agree.
std::int32_t PagedGroups::hit_in_windows(const Held& held, std::int32_t hit) const {
  std::size_t agreed = 0;
  for (std::size_t w = 0; agreed < windows_.size(); w = (w + 1) % windows_.size()) {
    const std::int32_t before = hit;
    for (std::int32_t i = hit; i > first_needed(windows_[w], hit); --i) {
      if (!found(held, windows_[w], i - 1)) hit = i - 1;
    }
    agreed = hit == before ? agreed + 1 : 1;
  }
  return hit;
}

// What it says.
void PagedGroups::know(Held& held, RequestId request) {
  if (held.has_path) return;
  content_.clear();
  contents_->content_of(request, content_);
  held.request = request;
  held.origin = contents_->origin_of(request);
  make_path(held);
}

Tokens PagedGroups::find_prefix(SequenceId id, RequestId request, Tokens length) {
  Held& held = at(id);
  know(held, request);
  const auto limit = static_cast<std::int32_t>((length.count() - 1) / block_size_.count());
  held.looked_up = std::min(limit, held.path_blocks);
  held.whole_hit = whole_hit(held, held.looked_up);
  held.hit = hit_in_windows(held, held.whole_hit);
  held.hit_free = held.hit_held = 0;
  held.moved_then = moved_;
  held.named_then = named_;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const std::int32_t first = first_needed(tables_[t].one.window, held.hit);
    held.hit_held += held.hit - first;
    for (std::int32_t i = first; i < held.hit; ++i) held.hit_free += pool_.references(find(held, t, i)) == 0 ? 1 : 0;
  }
  return block_size_ * held.hit;
}

Tokens PagedGroups::cached_prefix(SequenceId id, RequestId request, Tokens length) {
  Held& held = at(id);
  know(held, request);
  const bool first = !held.watched;
  held.watched = true;
  std::uint64_t changes = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    if (first) tables_[t].watch.begin(held.rows[t].path);
    changes += tables_[t].watch.changes(held.rows[t].path);
  }
  if (first || changes != held.watched_at) {
    held.watched_at = changes;
    const auto limit = static_cast<std::int32_t>((length.count() - 1) / block_size_.count());
    held.cached = hit_in_windows(held, whole_hit(held, std::min(limit, held.path_blocks)));
  }
  return block_size_ * held.cached;
}

std::uint64_t PagedGroups::prefix_changes() const {
  std::uint64_t sum = 0;
  for (const Table& t : tables_) sum += t.watch.changes();
  return sum;
}

void PagedGroups::watch_no_more(Held& held) {
  if (!held.watched) return;
  for (std::size_t t = 0; t < tables_.size(); ++t) tables_[t].watch.end(held.rows[t].path);
  held.watched = false;
}

bool PagedGroups::admission_changed(SequenceId id) const {
  if (index_of(id) >= held_.size()) return false;
  const Held& held = held_[index_of(id)];
  if (held.moved_then != moved_ || (held.hit < held.whole_hit && held.named_then != named_)) return true;
  return held.whole_hit < held.looked_up && found(held, Tokens(0), held.whole_hit);
}

void PagedGroups::forget(SequenceId id) {
  if (index_of(id) >= held_.size()) return;
  Held& held = held_[index_of(id)];
  watch_no_more(held);
  drop_path(held);
  held.has_path = held.resumed = false;
  held.path_blocks = held.looked_up = held.whole_hit = held.hit = held.hit_free = held.hit_held = 0;
}

void PagedGroups::drop_path(Held& held) {
  for (std::size_t t = 0; t < held.rows.size(); ++t) tables_[t].tree.drop(held.rows[t].path);
}

// It belongs to nobody's run: requests are counted up to this number.
bool PagedGroups::remember(const Content& content, const ContentOrigin& origin) {
  Held held;
  held.rows.resize(tables_.size());
  held.request = RequestId{UINT32_MAX};
  held.origin = origin;
  content_ = content;
  make_path(held);
  const std::int64_t most = total_grains() / std::ssize(tables_);
  const auto blocks = static_cast<std::int32_t>(std::min<std::int64_t>(held.path_blocks, most));
  held.hit = hit_in_windows(held, whole_hit(held, blocks));
  take_found(held);
  reach(held, Tokens(0), block_size_ * blocks);
  give_back_tables(held);
  drop_path(held);
  evictions_ = 0;
  ledger_ = {};
  return true;
}

// Blocks that a growth from `computed` tokens frees for good, but for those that somebody shares.
std::int64_t PagedGroups::to_be_freed(const Held& held, Tokens computed) const {
  std::int64_t freed = 0;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const Row& row = held.rows[t];
    for (std::int64_t i = row.gone; i < freed_at(tables_[t].one, computed); ++i) {
      freed += pool_.references(row.blocks[static_cast<std::size_t>(i)]) == 1 ? 1 : 0;
    }
  }
  return freed;
}

std::int64_t PagedGroups::demand(SequenceId id, Tokens total) const {
  const Tokens from = written(id);
  if (total == from) return 0;
  const Held& held = held_[index_of(id)];
  const std::int64_t more = blocks_for(total, block_size_).count() - std::ssize(held.rows.front().blocks);
  return more * std::ssize(tables_) - to_be_freed(held, from);
}

std::int64_t PagedGroups::decode_demand() const {
  std::int64_t sum = 0;
  due_.for_each_due(cohort(), decode_steps(),
                    [&](const DueQueue::Entry& entry) { sum += demand(entry.id, written(entry.id) + Tokens(1)); });
  return sum;
}

// More than a chunk at once never comes: such a sequence's windows move on before.
std::int64_t PagedGroups::admission_demand(SequenceId id, const SequenceNeed& /*need*/, Tokens first) const {
  const Held* held = index_of(id) < held_.size() ? &held_[index_of(id)] : nullptr;
  const std::int64_t hit = held == nullptr ? 0 : held->hit;
  std::int64_t most = held == nullptr ? 0 : held->hit_free - held->hit_held;
  for (const Table& t : tables_) {
    const std::int64_t found = hit - first_needed(t.one.window, static_cast<std::int32_t>(hit));
    most += std::max(
        found, std::min(found + blocks_for(first, block_size_).count() - hit, most_held(t.one, first, longest_chunk_)));
  }
  return most;
}

std::int64_t PagedGroups::held_grains(SequenceId id) const {
  std::int64_t sum = 0;
  for (const Row& row : held_[index_of(id)].rows) sum += std::ssize(row.blocks) - row.gone;
  return sum;
}

Grant PagedGroups::do_admit(SequenceId id, const SequenceNeed& /*need*/, Tokens first) {
  Held& held = at(id);
  const std::int64_t blocks = blocks_for(first, block_size_).count() - held.hit;
  if (blocks * std::ssize(tables_) + held.hit_free > available()) return Grant::no_space;
  held.order = admissions_++;
  watch_no_more(held);
  take_found(held);
  count_hits(held);
  reach(held, Tokens(0), first);
  held.hit = held.hit_free = held.hit_held = 0;
  return Grant::granted;
}

// Takes part in the blocks found.
void PagedGroups::take_found(Held& held) {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    Row& row = held.rows[t];
    row.gone = first_needed(tables_[t].one.window, held.hit);
    row.blocks.assign(static_cast<std::size_t>(row.gone), kNoBlock);
    for (std::int32_t i = row.gone; i < held.hit; ++i) {
      const BlockId block = find(held, t, i);
      if (pool_.references(block) == 0) {
        --cached_;
        ++tables_[t].used;
      }
      pool_.touch(block);
      row.blocks.push_back(block);
    }
  }
  held.published = held.hit;
  table_blocks_ += held.hit;
}

void PagedGroups::count_hits(Held& held) {
  if (!held.resumed) {
    ++ledger_.requests;
    ledger_.requests_hit += held.hit == 0 ? 0 : 1;
  }
  held.resumed = true;
  const auto tokens = static_cast<double>((block_size_ * held.hit).count());
  ledger_.hit_tokens_squared += tokens * tokens;
  const Row& row = held.rows[witness_];
  for (std::int32_t i = 0; i < held.hit; ++i) {
    const auto seen = static_cast<std::size_t>(std::max(i, row.gone));  // what left the window is the next one's
    const User& user = users_[row.blocks[seen]];
    const HitCause cause = user.request == held.request                               ? HitCause::own_preemption
                           : user.session != 0 && user.session == held.origin.session ? HitCause::own_session
                                                                                      : HitCause::other_request;
    ledger_.hit_tokens[static_cast<std::size_t>(cause)] += block_size_.count();
  }
  for (std::int32_t i = row.gone; i < held.hit; ++i) {
    users_[row.blocks[static_cast<std::size_t>(i)]] = {held.request, held.origin.session};
  }
}

void PagedGroups::give_back(std::size_t table, BlockId block) {
  if (!pool_.give_back(block)) return;
  --tables_[table].used;
  if (pool_.content(block).node != kNoNode) ++cached_;
}

// Of a sequence that grows from `computed` tokens.
void PagedGroups::move_windows(Held& held, Tokens computed) {
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    Row& row = held.rows[t];
    const auto end = static_cast<std::int32_t>(freed_at(tables_[t].one, computed));
    if (end <= row.gone) continue;
    for (std::int32_t i = end; i > row.gone; --i) {
      BlockId& block = row.blocks[static_cast<std::size_t>(i - 1)];
      give_back(t, block);
      block = kNoBlock;
    }
    moved_ += end - row.gone;
    row.gone = end;
  }
}

// Takes blocks from the free queue; what they held is evicted.
void PagedGroups::extend(Held& held, Tokens total) {
  const std::int64_t blocks = blocks_for(total, block_size_).count();
  table_blocks_ += blocks - std::ssize(held.rows.front().blocks);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    std::vector<BlockId>& row = held.rows[t].blocks;
    while (std::ssize(row) < blocks) {
      const BlockId block = pool_.take();
      BlockContent& content = pool_.content(block);
      if (content.node != kNoNode) {
        tables_[table_of_[block]].tree.withdraw(content.node, content.position, block);
        tables_[table_of_[block]].watch.changed(content.node);
        content.node = kNoNode;
        --cached_;
        ++evictions_;
        ++moved_;
      }
      table_of_[block] = static_cast<std::uint16_t>(t);
      ++tables_[t].used;
      row.push_back(block);
    }
  }
}

// Names the full blocks of the first `total` tokens that are not yet.
void PagedGroups::publish(Held& held, Tokens total) {
  const auto full = std::min(held.path_blocks, static_cast<std::int32_t>(total.count() / block_size_.count()));
  if (held.published >= full) return;
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    const Row& row = held.rows[t];
    auto piece = std::ranges::upper_bound(row.path, held.published, {}, &Piece::end);
    for (std::int32_t i = held.published; i < full; ++i) {
      if (i >= piece->end) ++piece;
      const BlockId block = row.blocks[static_cast<std::size_t>(i)];
      users_[block] = {held.request, held.origin.session};
      pool_.content(block) = {piece->node, i};
      tables_[t].tree.publish(piece->node, i, block);
      tables_[t].watch.changed(piece->node);
    }
  }
  named_ += full - held.published;
  held.published = full;
}

void PagedGroups::reach(Held& held, Tokens from, Tokens total) {
  move_windows(held, from);
  extend(held, total);
  publish(held, total);
}

Grant PagedGroups::do_grow(SequenceId id, Tokens from, Tokens to) {
  if (to == from) return Grant::granted;
  if (demand(id, to) > available()) return Grant::no_space;
  reach(held_[index_of(id)], from, to);
  return Grant::granted;
}

void PagedGroups::do_release(SequenceId id, Tokens /*written*/) { give_back_tables(held_[index_of(id)]); }

void PagedGroups::give_back_tables(Held& held) {
  table_blocks_ -= std::ssize(held.rows.front().blocks);
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    Row& row = held.rows[t];
    for (auto i = std::ssize(row.blocks); i > row.gone; --i) give_back(t, row.blocks[static_cast<std::size_t>(i - 1)]);
    row.blocks.clear();
    row.gone = 0;
  }
  held.published = 0;
}

Tokens PagedGroups::next_change(Tokens computed) const {
  std::int64_t next =
      computed.count() + block_size_.count() - 1 - computed.count() % block_size_.count();  // a full one
  for (const Table& t : tables_) next = std::min(next, kv::next_change(t.one, computed));
  return Tokens(next);
}

void PagedGroups::schedule(SequenceId id, Tokens written) {
  Held& held = held_[index_of(id)];
  bool overdue = false;  // its last chunk has moved a window on
  for (std::size_t t = 0; t < tables_.size(); ++t) {
    overdue = overdue || freed_at(tables_[t].one, written) > held.rows[t].gone;
  }
  held.due = decode_steps() + (overdue ? 0 : (next_change(written) - written).count());
  due_.add(cohort(), {held.due, held.order, id});
}

void PagedGroups::do_stop_decoding(SequenceId id, Tokens /*written*/) {
  Held& held = held_[index_of(id)];
  due_.remove(cohort(), {held.due, held.order, id});
  held.due = -1;
}

// One after the other, in order of admission: what one frees the next may take.
Grant PagedGroups::do_grow_decoding(std::span<const Growth> others) {
  gather_growing(
      due_, cohort(), decode_steps(), others, [this](SequenceId id) { return held_[index_of(id)].order; },
      [this](SequenceId id) { return written(id); }, growing_);
  std::int64_t free = available();
  for (const Growing& g : growing_) {
    free -= demand(g.id, g.to);
    if (free < 0) return Grant::no_space;
  }
  for (const Growing& g : growing_) {
    Held& held = held_[index_of(g.id)];
    reach(held, g.from, g.to);
    if (held.due < 0) continue;  // one of `others`
    due_.remove(cohort(), {held.due, held.order, g.id});
    held.due += (next_change(g.to) - g.from).count();
    due_.add(cohort(), {held.due, held.order, g.id});
  }
  return Grant::granted;
}

MemoryPartition PagedGroups::partition() const {
  MemoryPartition p;
  const std::int64_t tail = table_blocks_ * block_size_.count() - total_written().count();
  std::int64_t held = 0;
  for (const Table& t : tables_) {
    const std::int64_t pieces = t.one.pieces;
    const std::int64_t used = t.used * block_size_.count() * pieces;
    p[MemoryState::tail] += tail * pieces;
    p[MemoryState::live] += used - tail * pieces;
    p[MemoryState::padding] += t.used * block_pieces_ - used;
    held += t.used;
  }
  CHECK_LAW(held + available() == total_grains(), "{} blocks held + {} free != {}", held, available(), total_grains());
  p[MemoryState::cached] = cached_ * block_pieces_;
  p[MemoryState::free] = (available() - cached_) * block_pieces_;
  return p;
}

std::optional<CacheLedger> PagedGroups::cache_ledger() const {
  CacheLedger ledger = ledger_;
  ledger.evicted_blocks = evictions_;
  ledger.looks = 1;
  for (const Table& t : tables_) {
    ledger.known_blocks += t.tree.registered();
    if (t.one.window == Tokens(0)) ledger.stranded_blocks += t.tree.registered() - t.tree.reachable();
  }
  return ledger;
}

}  // namespace blockyard::kv
