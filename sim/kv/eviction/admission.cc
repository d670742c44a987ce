#include "sim/kv/eviction/admission.h"

#include <array>

namespace blockyard::kv {
namespace {

struct Row {
  CacheAdmission rule;
  const char* name;
  const char* doc;
};
constexpr std::array kRules{
    Row{CacheAdmission::always, "always", "whatever was computed is worth keeping"},
    Row{CacheAdmission::second_hit, "second_hit", "what was asked for once goes first"},
    Row{CacheAdmission::tinylfu, "tinylfu",
        "newcomers go unless asked for more often than the policy's victim (Einziger et al., TOS 2017)"}};

}  // namespace

NameDocs cache_admissions() {
  NameDocs docs;
  for (const Row& row : kRules) docs.push_back({row.name, row.doc});
  return docs;
}

std::optional<CacheAdmission> find_cache_admission(std::string_view name) {
  for (const Row& row : kRules) {
    if (row.name == name) return row.rule;
  }
  return std::nullopt;
}

FilteredEviction::FilteredEviction(CacheAdmission rule, std::unique_ptr<Eviction> policy, const PolicyOptions& options)
    : rule_(rule),
      policy_(std::move(policy)),
      blocks_(static_cast<std::size_t>(options.slots)),
      newcomers_(options.slots, 1),
      remembered_(rule == CacheAdmission::second_hit ? options.capacity : 0),
      asked_(rule == CacheAdmission::tinylfu ? options.capacity : 0) {}

void FilteredEviction::admit(BlockId slot, const Reference& reference) {
  const Entry entry{slot, reference};
  policy_->enter({&entry, 1});
}

void FilteredEviction::enter(std::span<const Entry> blocks) {
  entries_.clear();
  for (const Entry& entry : blocks) {
    Block& block = blocks_[entry.slot];
    block = {Place::newcomer, false, entry.reference};
    if (rule_ == CacheAdmission::tinylfu) {
      asked_.add(entry.reference.key);
    } else if (remembered_.remove(entry.reference.key)) {
      block.place = Place::admitted;
      entries_.push_back(entry);
    }
  }
  if (!entries_.empty()) policy_->enter(entries_);
}

void FilteredEviction::hit(std::span<const Entry> blocks) {
  entries_.clear();
  for (const Entry& entry : blocks) {
    Block& block = blocks_[entry.slot];
    if (rule_ == CacheAdmission::tinylfu) asked_.add(entry.reference.key);
    if (entry.slot == challenged_) {
      challenged_ = kNoBlock;
      block.place = Place::entering;
      admit(entry.slot, entry.reference);
    } else if (block.place != Place::newcomer) {
      entries_.push_back(entry);
    } else if (rule_ == CacheAdmission::tinylfu) {
      block.reference = entry.reference;
    } else {
      if (block.idle) newcomers_.remove(entry.slot);
      block.place = block.idle ? Place::entering : Place::admitted;
      admit(entry.slot, entry.reference);
    }
  }
  if (!entries_.empty()) policy_->hit(entries_);
}

void FilteredEviction::hold(std::span<const BlockId> blocks) {
  slots_.clear();
  for (const BlockId slot : blocks) {
    Block& block = blocks_[slot];
    block.idle = false;
    if (block.place == Place::newcomer) {
      newcomers_.remove(slot);
    } else if (block.place == Place::entering) {
      block.place = Place::admitted;
    } else {
      --admitted_idle_;
      slots_.push_back(slot);
    }
  }
  if (!slots_.empty()) policy_->hold(slots_);
}

void FilteredEviction::let_go(std::span<const BlockId> blocks) {
  slots_.clear();
  for (const BlockId slot : blocks) {
    Block& block = blocks_[slot];
    block.idle = true;
    if (block.place == Place::newcomer) {
      newcomers_.push_youngest(0, slot);
    } else {
      ++admitted_idle_;
      slots_.push_back(slot);
    }
  }
  if (!slots_.empty()) policy_->let_go(slots_);
}

void FilteredEviction::admit_all_newcomers() {
  while (!newcomers_.empty(0)) {
    const BlockId slot = newcomers_.oldest(0);
    newcomers_.remove(slot);
    blocks_[slot].place = Place::admitted;
    admit(slot, blocks_[slot].reference);
    policy_->let_go({&slot, 1});
    ++admitted_idle_;
  }
}

BlockId FilteredEviction::give_up_newcomer(BlockId slot) {
  newcomers_.remove(slot);
  blocks_[slot].place = Place::gone;
  if (rule_ == CacheAdmission::second_hit) remembered_.push(blocks_[slot].reference.key);
  return slot;
}

// The one that goes.
BlockId FilteredEviction::compete() {
  if (challenged_ == kNoBlock) {
    if (admitted_idle_ == 0) admit_all_newcomers();
    slots_.clear();
    policy_->evict(1, slots_);
    --admitted_idle_;
    challenged_ = slots_.front();
  }
  if (!newcomers_.empty(0)) {
    const BlockId newcomer = newcomers_.oldest(0);
    const Reference& reference = blocks_[newcomer].reference;
    if (asked_.count(reference.key) <= asked_.count(blocks_[challenged_].reference.key)) {
      return give_up_newcomer(newcomer);
    }
    newcomers_.remove(newcomer);
    blocks_[newcomer].place = Place::admitted;
    admit(newcomer, reference);
    policy_->let_go({&newcomer, 1});
    ++admitted_idle_;
  }
  const BlockId loser = challenged_;
  challenged_ = kNoBlock;
  blocks_[loser].place = Place::gone;
  return loser;
}

void FilteredEviction::evict(std::size_t count, std::vector<BlockId>& out) {
  if (rule_ == CacheAdmission::tinylfu) {
    for (; count > 0; --count) out.push_back(compete());
    return;
  }
  for (; count > 0 && !newcomers_.empty(0); --count) out.push_back(give_up_newcomer(newcomers_.oldest(0)));
  if (count == 0) return;
  const std::size_t before = out.size();
  policy_->evict(count, out);
  admitted_idle_ -= static_cast<std::int64_t>(count);
  for (std::size_t i = before; i < out.size(); ++i) {
    Block& block = blocks_[out[i]];
    block.place = Place::gone;
    remembered_.push(block.reference.key);
  }
}

}  // namespace blockyard::kv
