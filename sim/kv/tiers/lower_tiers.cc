#include "sim/kv/tiers/lower_tiers.h"

#include <algorithm>
#include <ranges>

namespace blockyard::kv {
namespace {

TierStore store_of(const TierOptions& tier) {
  PolicyOptions options = tier.options;
  options.capacity = options.slots = tier.capacity.count();
  return {tier.capacity.count(), tier.policy->make(options)};
}

class NoTime final : public TierLinks {
 public:
  SimTime gpu_to_host(SimTime /*now*/, SimTime ready, std::int64_t /*blocks*/) override { return ready; }
  SimTime host_to_gpu(SimTime /*now*/, SimTime ready, std::int64_t /*blocks*/) override { return ready; }
  SimTime store(Tier /*tier*/, SimTime /*now*/, SimTime ready, std::int64_t /*blocks*/) override { return ready; }
  SimTime load(Tier /*tier*/, SimTime /*now*/, SimTime ready, std::int64_t /*blocks*/) override { return ready; }
  [[nodiscard]] SimTime would_fetch(SimTime /*now*/, const TierBlocks& /*blocks*/) const override { return SimTime(0); }
  [[nodiscard]] SimTime would_compute(Tokens /*from*/, Tokens /*to*/) override { return SimTime(0); }
};

}  // namespace

LowerTiers::LowerTiers(const TiersOptions& options, Tokens block_size, std::int64_t gpu_blocks)
    : block_size_(block_size),
      always_load_(options.always_load),
      prefetch_(options.prefetch),
      links_(options.links),
      links_of_run_(options.links),
      blocks_(static_cast<std::size_t>(gpu_blocks)),
      falling_(options.tiers.size()) {
  for (const TierOptions& tier : options.tiers) {
    levels_.push_back({tier.tier, tier.write, store_of(tier), {}});
    TierLedger& ledger = levels_.back().ledger;
    ledger.name = kTierNames[static_cast<std::size_t>(tier.tier)];
    ledger.capacity_blocks = tier.capacity.count();
  }
}

std::size_t LowerTiers::level_of(std::uint64_t key) const {
  std::size_t level = 0;
  while (level < levels_.size() && !levels_[level].store.contains(key)) ++level;
  return level;
}

void LowerTiers::advance(SimTime now) {
  now_ = now;
  for (Level& level : levels_) level.ledger.evicted_blocks += level.store.expire(now);
  write_due(computed_, TierWrite::write_through);
  write_due(idle_, TierWrite::write_back);
  if (!expected_ends_.empty()) prefetch_due();
}

// Blocks that have lost their content since, or been taken for another, are due no more. What was fetched is written
// back, but not through: it was not computed here.
void LowerTiers::write_due(std::vector<Due>& due, TierWrite rule) {
  if (due.empty()) return;
  some_.clear();
  ++lists_;
  for (const Due& d : due) {
    GpuBlock& block = blocks_[d.block];
    if (block.reference.key != d.key || block.listed == lists_) continue;
    if (rule == TierWrite::write_through && block.arrives > SimTime(0)) continue;
    block.listed = lists_;
    some_.push_back(d.block);
  }
  due.clear();
  std::array<std::size_t, kTiers> levels{};
  std::size_t count = 0;
  for (std::size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].write == rule) levels[count++] = i;
  }
  if (count > 0) write_to(std::span(levels).first(count), some_);
}

// Those of the blocks that a level lacks go there; over the host link each goes once. Returns the end of that copy.
SimTime LowerTiers::write_to(std::span<const std::size_t> levels, std::span<const BlockId> blocks) {
  std::int64_t copied = 0;
  SimTime on_gpu = now_;
  for (const BlockId block : blocks) {
    const std::uint64_t key = blocks_[block].reference.key;
    if (std::ranges::all_of(levels, [&](std::size_t i) { return levels_[i].store.contains(key); })) continue;
    ++copied;
    on_gpu = std::max(on_gpu, blocks_[block].arrives);
  }
  if (copied == 0) return now_;
  const SimTime in_host = links_->gpu_to_host(now_, on_gpu, copied);
  for (const std::size_t i : levels) {
    Level& level = levels_[i];
    lacking_.clear();
    for (const BlockId block : blocks) {
      if (!level.store.contains(blocks_[block].reference.key)) lacking_.push_back(block);
    }
    if (lacking_.empty()) continue;
    const std::int64_t count = std::ssize(lacking_);
    const SimTime ready = level.tier == Tier::host ? in_host : links_->store(level.tier, now_, in_host, count);
    level.ledger.written_blocks += count;
    // What goes for one of these is not written again, though it be one of the blocks.
    for (const BlockId block : lacking_) {
      GpuBlock& from = blocks_[block];
      from.copied = in_host;
      put(i, from.reference, ready);
    }
  }
  settle_falling();
  return in_host;
}

void LowerTiers::put(std::size_t level, const Reference& reference, SimTime ready) {
  Level& at = levels_[level];
  const std::optional<TierStore::Entry> gone = at.store.insert(reference, ready);
  if (!gone) return;
  ++at.ledger.evicted_blocks;
  if (level + 1 == levels_.size() || levels_[level + 1].write != TierWrite::on_eviction) return;
  falling_[level + 1].push_back(*gone);
}

// From the top: what a level gives up for those may fall further.
void LowerTiers::settle_falling() {
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    std::vector<TierStore::Entry>& falling = falling_[i];
    std::erase_if(falling, [&](const auto& gone) { return levels_[i].store.contains(gone.reference.key); });
    if (falling.empty()) continue;
    const auto blocks = static_cast<std::int64_t>(falling.size());
    SimTime above = now_;
    for (const TierStore::Entry& gone : falling) above = std::max(above, gone.ready);
    // The first tier below the GPU may itself be a store: then it is read on the way down.
    const bool from_host = levels_[i - 1].tier == Tier::host;
    const SimTime there = from_host ? above : links_->load(levels_[i - 1].tier, now_, above, blocks);
    if (!from_host) levels_[i - 1].ledger.read_blocks += blocks;
    const SimTime ready = links_->store(levels_[i].tier, now_, there, blocks);
    levels_[i].ledger.written_blocks += blocks;
    for (const TierStore::Entry& gone : falling) {
      if (!levels_[i].store.contains(gone.reference.key)) put(i, gone.reference, ready);
    }
    falling.clear();
  }
}

LowerTiers::Found LowerTiers::find(std::span<const std::uint64_t> keys, std::int32_t first) {
  TierBlocks blocks{};
  std::int32_t found = 0;
  SimTime ready = now_;
  for (const std::uint64_t key : keys) {
    const std::size_t level = level_of(key);
    if (level == levels_.size()) break;
    ready = std::max(ready, levels_[level].store.ready(key));
    ++blocks[static_cast<std::size_t>(levels_[level].tier)];
    ++found;
  }
  if (found == 0 || always_load_) return {found, found};
  const SimTime fetching = ready - now_ + links_->would_fetch(now_, blocks);
  const bool cheaper = fetching < links_->would_compute(block_size_ * first, block_size_ * (first + found));
  return {found, cheaper ? found : 0};
}

SimTime LowerTiers::fetch(std::span<const Eviction::Entry> blocks) {
  TierBlocks counts{};
  std::array<SimTime, kTiers> ready{now_, now_, now_};
  from_.clear();
  for (const Eviction::Entry& block : blocks) {
    const std::size_t i = level_of(block.reference.key);
    CHECK_LAW(i < levels_.size(), "a block at depth {} is fetched from nowhere", block.reference.depth);
    from_.push_back(i);
    Level& level = levels_[i];
    const auto tier = static_cast<std::size_t>(level.tier);
    ++counts[tier];
    ready[tier] = std::max(ready[tier], level.store.ready(block.reference.key));
    ++level.ledger.read_blocks;
    level.ledger.hit_tokens += block_size_.count();
    level.store.touch(block.reference);
  }
  SimTime end = now_;
  for (std::size_t tier = 0; tier < kTiers; ++tier) {
    if (counts[tier] == 0) continue;
    const SimTime in_host = static_cast<Tier>(tier) == Tier::host
                                ? ready[tier]
                                : links_->load(static_cast<Tier>(tier), now_, ready[tier], counts[tier]);
    end = std::max(end, links_->host_to_gpu(now_, in_host, counts[tier]));
    if (static_cast<Tier>(tier) == Tier::host || levels_.front().tier != Tier::host) continue;
    for (std::size_t k = 0; k < blocks.size(); ++k) {
      if (levels_[from_[k]].tier == static_cast<Tier>(tier)) put(0, blocks[k].reference, in_host);
    }
  }
  settle_falling();
  return end;
}

void LowerTiers::entered(std::span<const Eviction::Entry> blocks) {
  for (const Eviction::Entry& block : blocks) {
    blocks_[block.slot] = {block.reference, SimTime(0), SimTime(0), 0};
    computed_.push_back({block.slot, block.reference.key});
    if (prefetch_) on_gpu_.insert(block.reference.key);
  }
}

void LowerTiers::let_go(std::span<const BlockId> blocks) {
  for (const BlockId block : blocks) idle_.push_back({block, blocks_[block].reference.key});
}

SimTime LowerTiers::evicted(std::span<const BlockId> blocks) {
  SimTime until = now_;
  constexpr std::array<std::size_t, 1> kFirst{0};
  if (levels_.front().write == TierWrite::on_eviction) write_to(kFirst, blocks);
  for (const BlockId block : blocks) {
    GpuBlock& gone = blocks_[block];
    until = std::max({until, gone.copied, gone.arrives});
    if (prefetch_) on_gpu_.erase(gone.reference.key);
    gone = {};
  }
  const SimTime waits_from = std::max(now_, waits_until_);
  if (until > waits_from) {
    waited_for_writes_ += until - waits_from;
    waits_until_ = until;
  }
  return until;
}

void LowerTiers::begin_warming() {
  static NoTime none;
  links_ = &none;
}

void LowerTiers::end_warming() {
  advance(now_);
  links_ = links_of_run_;
  for (Level& level : levels_) {
    level.ledger.read_blocks = level.ledger.written_blocks = level.ledger.evicted_blocks = 0;
  }
}

void LowerTiers::expect(std::span<const std::uint64_t> keys) {
  expected_.insert(expected_.end(), keys.begin(), keys.end());
  expected_ends_.push_back(expected_.size());
}

void LowerTiers::prefetch_due() {
  std::size_t begin = 0;
  for (const std::size_t end : expected_ends_) {
    prefetch(std::span(expected_).subspan(begin, end - begin));
    begin = end;
  }
  expected_.clear();
  expected_ends_.clear();
}

void LowerTiers::prefetch(std::span<const std::uint64_t> keys) {
  TierBlocks counts{};
  std::array<SimTime, kTiers> ready{now_, now_, now_};
  coming_.clear();
  for (std::size_t position = 0; position < keys.size(); ++position) {
    const std::uint64_t key = keys[position];
    const std::size_t i = level_of(key);
    if (i == levels_.size()) {
      if (on_gpu_.contains(key)) continue;
      break;
    }
    if (i == 0 || on_gpu_.contains(key)) continue;
    Reference r;
    r.key = key;
    r.parent = position == 0 ? kNoKey : keys[position - 1];
    r.depth = static_cast<std::uint32_t>(position);
    r.now = now_;
    coming_.emplace_back(r, i);
    const auto tier = static_cast<std::size_t>(levels_[i].tier);
    ++counts[tier];
    ready[tier] = std::max(ready[tier], levels_[i].store.ready(key));
  }
  for (std::size_t i = 1; i < levels_.size(); ++i) {
    const auto tier = static_cast<std::size_t>(levels_[i].tier);
    if (counts[tier] == 0) continue;
    const SimTime in_host = links_->load(levels_[i].tier, now_, ready[tier], counts[tier]);
    levels_[i].ledger.read_blocks += counts[tier];
    levels_[i].ledger.prefetched_blocks += counts[tier];
    for (const auto& [block, level] : std::views::reverse(coming_)) {
      if (level == i) put(0, block, in_host);
    }
  }
  settle_falling();
}

void LowerTiers::describe(CacheLedger& ledger) const {
  for (const Level& level : levels_) {
    ledger.tiers.push_back(level.ledger);
    ledger.tiers.back().used_blocks = level.store.size();
  }
  ledger.waited_for_writes = waited_for_writes_;
  ledger.computed_instead_tokens = computed_instead_;
}

}  // namespace blockyard::kv
