#include "sim/kv/cache/reference_string.h"

#include <algorithm>

#include "sim/base/check.h"
#include "sim/kv/eviction/policy.h"

namespace blockyard::kv {

void ReferenceString::add(std::span<const std::int64_t> ids, Tokens prompt, SimTime arrival, std::uint32_t category,
                          std::uint32_t tenant, Tokens answer) {
  Request& request = append(ids, prompt, answer);
  request.category = category;
  request.tenant = tenant;
  request.arrival = arrival;
  blocks_ += request.ids;
  prompt_tokens_ += prompt;
}

void ReferenceString::add_before(std::span<const std::int64_t> ids, Tokens prompt, std::uint32_t category,
                                 std::uint32_t tenant, Tokens answer) {
  CHECK_LAW(before_ == requests_.size(), "{} requests have asked already", asking());
  Request& request = append(ids, prompt, answer);
  request.category = category;
  request.tenant = tenant;
  request.looked_up = request.ids = 0;
  request.prompt = 0;
  ++before_;
}

ReferenceString::Request& ReferenceString::append(std::span<const std::int64_t> ids, Tokens prompt, Tokens answer) {
  Request request;
  request.first = ids_.size();
  request.all_ids = request.ids = static_cast<std::uint32_t>(ids.size());
  request.prompt = prompt.count();
  request.looked_up = request.kept = request.ids;
  if (lookup_ == Lookup::full) {
    const auto limit = [&](std::int64_t tokens) {
      return static_cast<std::uint32_t>(
          std::min<std::int64_t>(request.ids, std::max<std::int64_t>(tokens, 0) / block_size_.count()));
    };
    request.looked_up = limit(request.prompt - 1);
    request.kept = limit(request.prompt);
    if (answer > Tokens(0)) {
      request.kept = limit(request.prompt + answer.count() - 1);
      request.ids = std::min(request.ids, static_cast<std::uint32_t>(blocks_for(prompt, block_size_).count()));
    }
  }
  std::uint32_t parent = kNoParent;
  const auto number = static_cast<std::uint32_t>(requests_.size());
  for (const std::int64_t id : ids) {
    const auto [known, is_new] = number_of_.emplace(id, static_cast<std::uint32_t>(number_of_.size()));
    if (is_new) {
      parents_.push_back(parent);
      named_by_.push_back(kNoParent);
      has_chains_ = has_chains_ || parent != kNoParent;
    }
    parent = known->second;
    request.repeats = request.repeats || named_by_[parent] == number;
    named_by_[parent] = number;
    ids_.push_back(parent);
  }
  requests_.push_back(request);
  return requests_.back();
}

std::int64_t ReferenceString::named_by(std::size_t first, std::size_t end) const {
  std::vector<bool> named(contents());
  std::int64_t sum = 0;
  for (std::size_t r = first; r < end; ++r) {
    const std::span all = ids(requests_[r]);
    for (const std::uint32_t id : r < before_ ? all.first(requests_[r].kept) : all) {
      sum += named[id] ? 0 : 1;
      named[id] = true;
    }
  }
  return sum;
}

std::vector<std::int64_t> ReferenceString::next_uses() const {
  std::vector<std::int64_t> next(ids_.size(), kNeverUsed);
  std::vector<std::int64_t> coming(contents(), kNeverUsed);
  for (std::size_t r = requests_.size(); r-- > 0;) {
    const Request& request = requests_[r];
    for (std::size_t i = request.first; i < request.first + request.all_ids; ++i) next[i] = coming[ids_[i]];
    for (std::size_t i = request.first; i < request.first + request.looked_up; ++i) {
      coming[ids_[i]] = static_cast<std::int64_t>(r);
    }
  }
  return next;
}

ReferenceString ReferenceString::flattened() const {
  ReferenceString flat(block_size_, Lookup::raw);
  for (std::size_t n = 0; n < requests_.size(); ++n) {
    const Request& r = requests_[n];
    for (std::uint32_t i = 0; n < before_ && i < r.kept; ++i) {
      const std::int64_t id = ids_[r.first + i];
      flat.add_before({&id, 1}, block_size_, r.category, r.tenant);
    }
    for (std::uint32_t i = 0; i < r.ids; ++i) {
      const std::int64_t id = ids_[r.first + i];
      flat.add({&id, 1}, Tokens(tokens(r, i + 1) - tokens(r, i)), r.arrival, r.category, r.tenant);
    }
  }
  return flat;
}

ReferenceString ReferenceString::sampled(double share, std::uint64_t salt) const {
  const auto limit = static_cast<std::uint64_t>(share * 18446744073709549568.0);  // the largest double below 2^64
  const auto picked = [&](std::uint32_t id) {
    std::uint64_t hash = (id + 1 + (salt << 32)) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    return (hash ^ (hash >> 31)) < limit;
  };
  ReferenceString sample(block_size_, lookup_);
  std::vector<std::int64_t> ids;
  for (std::size_t n = 0; n < requests_.size(); ++n) {
    const Request& r = requests_[n];
    Request kept = r;
    ids.clear();
    kept.looked_up = kept.kept = kept.ids = 0;
    for (std::uint32_t i = 0; i < r.all_ids; ++i) {
      if (!picked(ids_[r.first + i])) continue;
      ids.push_back(ids_[r.first + i]);
      kept.looked_up += i < r.looked_up ? 1 : 0;
      kept.kept += i < r.kept ? 1 : 0;
      kept.ids += i < r.ids ? 1 : 0;
    }
    if (ids.empty()) continue;
    if (n < before_) {
      sample.add_before(ids, Tokens(r.prompt), r.category, r.tenant);
      sample.requests_.back().kept = kept.kept;
      continue;
    }
    sample.add(ids, Tokens(r.prompt), r.arrival, r.category, r.tenant);
    sample.requests_.back().looked_up = kept.looked_up;
    sample.requests_.back().kept = kept.kept;
    sample.blocks_ -= sample.requests_.back().ids - kept.ids;
    sample.requests_.back().ids = kept.ids;
  }
  return sample;
}

}  // namespace blockyard::kv
