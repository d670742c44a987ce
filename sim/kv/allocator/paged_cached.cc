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
      decoding_(1, Members(block_size)),
      until_look_(blocks.count()),
      users_(caching ? static_cast<std::size_t>(blocks.count()) : 0) {
  CHECK_LAW(!caching || contents != nullptr, "a prefix cache of {} blocks without contents", blocks.count());
}

void PagedCached::set_eviction(const CacheEviction& eviction) {
  record_ = eviction.record;
  if (eviction.policy == nullptr) return;
  PolicyOptions options = eviction.options;
  options.capacity = pool_.capacity().count();
  options.slots = options.capacity + 1;
  idle_ = std::make_unique<IdleBlocks>(make_eviction(*eviction.policy, eviction.rules, options, pool_.capacity()),
                                       eviction.cost, eviction.future);
  if (eviction.policy->watches_queue) expected_ = std::make_unique<ExpectedRequests>(*contents_, block_size_, *idle_);
}

void PagedCached::set_tiers(const TiersOptions& tiers) {
  if (tiers.tiers.empty()) return;
  CHECK_LAW(idle_ != nullptr, "{} tiers below a cache without a policy", tiers.tiers.size());
  tiers_ = std::make_unique<LowerTiers>(tiers, block_size_, pool_.capacity().count() + 1);
}

void PagedCached::advance(SimTime now) {
  if (idle_ == nullptr) return;
  now_ = now;
  if (tiers_ != nullptr) tiers_->advance(now);
  some_.clear();
  idle_->advance(now, some_);
  give_up(some_);
}

void PagedCached::expect(RequestId request) {
  if (expected_ != nullptr) expected_->add(request);
  if (tiers_ == nullptr || !tiers_->prefetches()) return;
  content_.clear();
  contents_->content_of(request, content_);
  block_keys(content_, block_size_ * full_blocks(content_, block_size_), block_size_, keys_);
  tiers_->expect(keys_);
}
void PagedCached::expect_no_more(RequestId request) {
  if (expected_ != nullptr) expected_->remove(request);
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
  held.request = request;
  held.origin = contents_->origin_of(request);
  take_path(held);
}

// That of content_.
void PagedCached::take_path(Held& held) {
  tree_.intern(content_, held.path);
  held.path_blocks = held.path.empty() ? 0 : held.path.back().end;
  held.has_path = true;
  if (idle_ != nullptr || record_ != nullptr)
    block_keys(content_, block_size_ * held.path_blocks, block_size_, held.keys);
}

// It belongs to nobody's run: requests are counted up to this number.
bool PagedCached::remember(const Content& content, const ContentOrigin& origin) {
  if (!caching_) return false;
  Held held;
  held.request = RequestId{UINT32_MAX};
  held.origin = origin;
  content_ = content;
  take_path(held);
  const auto blocks = static_cast<std::int32_t>(std::min<std::int64_t>(held.path_blocks, pool_.capacity().count()));
  for (const Piece& piece : held.path) {
    while (held.hit < std::min(piece.end, blocks) && tree_.find(piece.node, held.hit) != kNoBlock) ++held.hit;
    if (held.hit < piece.end) break;
  }
  if (tiers_ != nullptr) tiers_->begin_warming();
  take_found(held, held.hit);
  share_found(held);
  held.published = held.hit;
  table_blocks_ += held.hit;
  extend(held, blocks - held.hit);
  publish(held, block_size_ * blocks);
  give_back_table(held);
  tree_.drop(held.path);
  if (tiers_ != nullptr) tiers_->end_warming();
  evictions_ = 0;
  until_look_ = pool_.capacity().count();
  ledger_ = {};
  return true;
}

// Of a sequence about to be admitted: the copies begin; the blocks that they go to are not taken yet.
void PagedCached::fetch(Held& held) {
  if (held.fetched == 0) {
    tiers_->computed_instead(held.below);
    return;
  }
  const SimTime arrives = tiers_->fetch(idle_->described(held.hit, held.hit + held.fetched, chain_of(held)));
  held.arrives = std::max(held.arrives, arrives);
  ledger_.hit_tokens[static_cast<std::size_t>(HitCause::host_tier)] += (block_size_ * held.fetched).count();
}

void PagedCached::forget(SequenceId id) {
  if (index_of(id) >= held_.size()) return;
  Held& held = held_[index_of(id)];
  watch_no_more(held);
  tree_.drop(held.path);
  held.has_path = false;
  held.resumed = false;
  held.path_blocks = 0;
  held.hit = held.hit_free = held.below = held.fetched = 0;
  held.missing = kNoNode;
}

std::int64_t PagedCached::decode_demand() const { return std::ssize(decoding_[index_of(cohort())].taking()); }

std::int64_t PagedCached::demand(SequenceId id, Tokens total) const {
  const Held& held = held_[index_of(id)];
  const std::int64_t shared = held.leader != SequenceId::none && total > Tokens(0) ? held.to_share : 0;
  return blocks_for(total, block_size_).count() - static_cast<std::int64_t>(held.table.size()) - shared;
}

std::int64_t PagedCached::admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const {
  const std::int64_t blocks = blocks_for(first, block_size_).count();
  if (need.leader != SequenceId::none) {
    return first > Tokens(0) ? blocks - need.prompt.count() / block_size_.count() : 0;
  }
  if (index_of(id) >= held_.size()) return blocks;
  return blocks - held_[index_of(id)].hit + held_[index_of(id)].hit_free;
}

Grant PagedCached::do_admit(SequenceId id, const SequenceNeed& need, Tokens first) {
  if (admission_demand(id, need, first) > available()) return Grant::no_space;
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  Held& held = held_[index_of(id)];
  held.order = admissions_++;
  if (need.leader != SequenceId::none) {
    held.leader = need.leader;
    held.to_share = static_cast<std::int32_t>(need.prompt.count() / block_size_.count());
    reach(id, first);
    return Grant::granted;
  }
  watch_no_more(held);
  take_found(held, held.hit);
  if (caching_) count_hits(held);
  if (idle_ != nullptr) idle_->set_admission(lookups_++);
  share_found(held);
  if (tiers_ != nullptr) fetch(held);
  held.published = held.hit;
  table_blocks_ += held.hit;
  extend(held, blocks_for(first, block_size_).count() - held.hit);
  publish(held, first);
  for (std::int32_t i = held.hit; i < held.hit + held.fetched; ++i) {
    tiers_->arrives_at(held.table[static_cast<std::size_t>(i)], held.arrives);
  }
  held.hit = held.hit_free = held.below = held.fetched = 0;
  return Grant::granted;
}

// The first blocks of its path, which are there, into its table.
void PagedCached::take_found(Held& held, std::int32_t blocks) {
  std::int32_t found = 0;
  for (const Piece& piece : held.path) {
    for (const std::int32_t end = std::min(piece.end, blocks); found < end; ++found) {
      held.table.push_back(tree_.find(piece.node, found));
    }
  }
}

// Of a sequence about to be admitted, with the blocks found in its table.
void PagedCached::count_hits(Held& held) {
  if (record_ != nullptr) {
    const std::int64_t looked_up = std::min<std::int64_t>(held.path_blocks, held.looked_up);
    record_->record(std::span(held.keys).first(static_cast<std::size_t>(looked_up)));
  }
  if (!held.resumed) {
    ++ledger_.requests;
    ledger_.requests_hit += held.table.empty() && held.fetched == 0 ? 0 : 1;
  }
  const auto tokens =
      static_cast<double>((block_size_ * (static_cast<std::int64_t>(held.table.size()) + held.fetched)).count());
  ledger_.hit_tokens_squared += tokens * tokens;
  held.resumed = true;
  for (const BlockId block : held.table) {
    User& user = users_[block];
    const HitCause cause = user.request == held.request                               ? HitCause::own_preemption
                           : user.session != 0 && user.session == held.origin.session ? HitCause::own_session
                                                                                      : HitCause::other_request;
    ledger_.hit_tokens[static_cast<std::size_t>(cause)] += block_size_.count();
    user = {held.request, held.origin.session};
  }
}

// Takes part in the blocks found.
void PagedCached::share_found(Held& held) {
  if (idle_ == nullptr) {
    for (const BlockId block : held.table) {
      if (pool_.references(block) == 0) --cached_;
      pool_.touch(block);
    }
    return;
  }
  idle_->found(held.table, 0, chain_of(held));
  some_.clear();
  for (std::size_t i = held.table.size(); i-- > 0;) {
    const BlockId block = held.table[i];
    if (pool_.references(block) == 0) {
      --cached_;
      some_.push_back(block);
    }
    pool_.share(block);
  }
  idle_->held(some_);
  expect_no_more(held.request);
}

// Evicts until the free queue holds so many blocks.
void PagedCached::make_room(std::int64_t blocks) {
  const std::int64_t missing = blocks - pool_.free().count();
  if (missing <= 0) return;
  idle_->evict(missing, some_);
  give_up(some_);
}

// Idle blocks lose their contents, which a tier below may take, and join the free queue.
void PagedCached::give_up(std::span<const BlockId> blocks) {
  if (tiers_ != nullptr && !blocks.empty()) {
    const SimTime until = tiers_->evicted(blocks);
    if (until > now_) work().until = std::max(work().until, until);
  }
  for (const BlockId block : blocks) {
    drop_content(block);
    pool_.join_queue(block);
  }
}

// An idle block loses its content.
void PagedCached::drop_content(BlockId block) {
  BlockContent& content = pool_.content(block);
  tree_.withdraw(content.node, content.position, block);
  watch_.changed(content.node);
  content.node = kNoNode;
  --cached_;
  ++evictions_;
  if (--until_look_ == 0) look_for_stranded();
}

void PagedCached::look_for_stranded() {
  until_look_ = pool_.capacity().count();
  ++ledger_.looks;
  ledger_.known_blocks += tree_.registered();
  ledger_.stranded_blocks += tree_.registered() - tree_.reachable();
}

std::optional<CacheLedger> PagedCached::cache_ledger() const {
  if (!caching_) return std::nullopt;
  CacheLedger ledger = ledger_;
  ledger.evicted_blocks = evictions_;
  if (tiers_ != nullptr) tiers_->describe(ledger);
  ++ledger.looks;
  ledger.known_blocks += tree_.registered();
  ledger.stranded_blocks += tree_.registered() - tree_.reachable();
  return ledger;
}

// Takes part in the leader's prompt.
void PagedCached::follow_leader(Held& held) {
  const std::vector<BlockId>& leader = held_[index_of(held.leader)].table;
  held.table.assign(leader.begin(), leader.begin() + held.to_share);
  for (const BlockId block : held.table) pool_.share(block);
  table_blocks_ += held.to_share;
  held.leader = SequenceId::none;
}

// Blocks for its first `total` tokens.
void PagedCached::reach(SequenceId id, Tokens total) {
  Held& held = held_[index_of(id)];
  if (held.leader != SequenceId::none && total > Tokens(0)) follow_leader(held);
  extend(held, demand(id, total));
  publish(held, total);
}

// Takes blocks from the free queue; what they held is evicted.
void PagedCached::extend(Held& held, std::int64_t blocks) {
  table_blocks_ += blocks;
  if (idle_ != nullptr) make_room(blocks);
  for (; blocks > 0; --blocks) {
    const BlockId id = pool_.take();
    if (pool_.content(id).node != kNoNode) drop_content(id);
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
  const std::int32_t first = held.published;
  for (; held.published < full; ++held.published) {
    if (held.published >= held.path[piece].end) ++piece;
    const BlockId id = held.table[static_cast<std::size_t>(held.published)];
    const NodeId node = held.path[piece].node;
    users_[id] = {held.request, held.origin.session};
    if (idle_ != nullptr && tree_.find(node, held.published) != kNoBlock) continue;
    pool_.content(id) = {node, held.published};
    tree_.publish(node, held.published, id);
    watch_.changed(node);
  }
  if (idle_ != nullptr) tell_entered(held, first);
}

// The policy learns of the blocks of the table from `first` to the last published one, but for those whose content was
// known.
void PagedCached::tell_entered(const Held& held, std::int32_t first) {
  const ChainFacts chain = chain_of(held);
  const std::span table(held.table);
  std::int32_t end = held.published;
  while (end > first) {
    const auto is_named = [&](std::int32_t i) {
      return pool_.content(table[static_cast<std::size_t>(i)]).node != kNoNode;
    };
    while (end > first && !is_named(end - 1)) --end;
    std::int32_t begin = end;
    while (begin > first && is_named(begin - 1)) --begin;
    if (begin < end) {
      const std::span<const Eviction::Entry> entries = idle_->entered(
          table.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin)), begin, chain);
      if (tiers_ != nullptr) tiers_->entered(entries);
    }
    end = begin;
  }
}

Grant PagedCached::do_grow(SequenceId id, Tokens /*from*/, Tokens to) {
  if (demand(id, to) > available()) return Grant::no_space;
  reach(id, to);
  return Grant::granted;
}

void PagedCached::do_release(SequenceId id, Tokens /*written*/) { give_back_table(held_[index_of(id)]); }

void PagedCached::give_back_table(Held& held) {
  some_.clear();
  for (std::size_t i = held.table.size(); i-- > 0;) {
    const BlockId block = held.table[i];
    if (idle_ == nullptr) {
      if (pool_.give_back(block) && pool_.content(block).node != kNoNode) ++cached_;
    } else if (pool_.unshare(block)) {
      if (pool_.content(block).node == kNoNode) {
        pool_.join_queue(block);
      } else {
        ++cached_;
        some_.push_back(block);
      }
    }
  }
  if (idle_ != nullptr) idle_->let_go(some_);
  if (tiers_ != nullptr) tiers_->let_go(some_);
  table_blocks_ -= static_cast<std::int64_t>(held.table.size());
  held.table.clear();
  held.published = 0;
  held.leader = SequenceId::none;
}

void PagedCached::do_start_decoding(SequenceId id, Tokens written) {
  std::vector<SequenceId>& members = decoding_[index_of(cohort())].of(written);
  auto at = members.end();
  while (at != members.begin() && held_[index_of(*std::prev(at))].order > held_[index_of(id)].order) --at;
  members.insert(at, id);
}

void PagedCached::do_stop_decoding(SequenceId id, Tokens written) {
  std::vector<SequenceId>& members = decoding_[index_of(cohort())].of(written);
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

  Members& members = decoding_[index_of(cohort())];
  const std::vector<SequenceId>& takers = members.taking();
  const std::vector<SequenceId>& publishers = members.filling();
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
    reach(growth.id, growth.total);
  }
  run_until(UINT64_MAX);
  members.advance();
  return Grant::granted;
}

void PagedCached::publish_one(SequenceId id) {
  Held& held = held_[index_of(id)];
  publish(held, block_size_ * static_cast<std::int64_t>(held.table.size()));
}

MemoryPartition PagedCached::partition() const {
  const std::int64_t used = pool_.capacity().count() - available();
  MemoryPartition p;
  p[MemoryState::tail] = table_blocks_ * block_size_.count() - total_written().count();
  p[MemoryState::live] = used * block_size_.count() - p[MemoryState::tail];
  p[MemoryState::cached] = cached_ * block_size_.count();
  p[MemoryState::free] = (available() - cached_) * block_size_.count();
  return p;
}

}  // namespace blockyard::kv
