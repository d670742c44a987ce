#include "sim/kv/placement/free_regions.h"

#include <algorithm>

#include "sim/base/check.h"

namespace blockyard::kv {
namespace {

// splitmix64: neighbouring addresses get unrelated priorities.
std::uint64_t priority_of(std::int64_t start) {
  std::uint64_t x = static_cast<std::uint64_t>(start) + 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace

FreeRegions::FreeRegions(Tokens capacity, bool by_size) : capacity_(capacity), by_size_(by_size) { reset(0); }

void FreeRegions::reset(std::int64_t start) {
  nodes_.clear();
  unused_.clear();
  sizes_.clear();
  root_ = kNone;
  free_ = capacity_ - Tokens(start);
  if (free_ > Tokens(0)) insert(start, free_.count());
}

void FreeRegions::update(Index node) {
  Node& n = at(node);
  n.largest = std::max({n.size, largest_of(n.left), largest_of(n.right)});
}

std::pair<FreeRegions::Index, FreeRegions::Index> FreeRegions::split(Index node, std::int64_t start) {
  if (node == kNone) return {kNone, kNone};
  if (at(node).start < start) {
    const auto [left, right] = split(at(node).right, start);
    at(node).right = left;
    update(node);
    return {node, right};
  }
  const auto [left, right] = split(at(node).left, start);
  at(node).left = right;
  update(node);
  return {left, node};
}

FreeRegions::Index FreeRegions::join(Index left, Index right) {
  if (left == kNone) return right;
  if (right == kNone) return left;
  if (at(left).priority > at(right).priority) {
    at(left).right = join(at(left).right, right);
    update(left);
    return left;
  }
  at(right).left = join(left, at(right).left);
  update(right);
  return right;
}

void FreeRegions::insert(std::int64_t start, std::int64_t size) {
  Index node = kNone;
  if (unused_.empty()) {
    node = static_cast<Index>(nodes_.size());
    nodes_.emplace_back();
  } else {
    node = unused_.back();
    unused_.pop_back();
  }
  at(node) = {start, size, size, priority_of(start), kNone, kNone};
  const auto [left, right] = split(root_, start);
  root_ = join(join(left, node), right);
  if (by_size_) sizes_.emplace(size, start);
}

void FreeRegions::erase(std::int64_t start) {
  const auto [left, rest] = split(root_, start);
  const auto [node, right] = split(rest, start + 1);
  root_ = join(left, right);
  if (by_size_) sizes_.erase({at(node).size, start});
  unused_.push_back(node);
}

std::optional<Region> FreeRegions::at_or_below(std::int64_t address) const {
  std::optional<Region> found;
  for (Index node = root_; node != kNone;) {
    const Node& n = at(node);
    if (n.start <= address) {
      found = Region{n.start, Tokens(n.size)};
      node = n.right;
    } else {
      node = n.left;
    }
  }
  return found;
}

void FreeRegions::add(Region region) {
  std::int64_t start = region.start;
  std::int64_t end = region.end();
  const std::optional<Region> below = at_or_below(end);
  if (below && below->start == end) {
    erase(end);
    end = below->end();
  }
  const std::optional<Region> before = at_or_below(region.end() - 1);
  CHECK_LAW(!before || before->end() <= start, "region {}..{} overlaps the free one at {}", start, region.end(),
            before->start);
  if (before && before->end() == start) {
    erase(before->start);
    start = before->start;
  }
  insert(start, end - start);
  free_ += region.size;
}

void FreeRegions::take(Region region) {
  const std::optional<Region> around = at_or_below(region.start);
  CHECK_LAW(around && around->end() >= region.end(), "region {}..{} is not free", region.start, region.end());
  erase(around->start);
  if (around->start < region.start) insert(around->start, region.start - around->start);
  if (region.end() < around->end()) insert(region.end(), around->end() - region.end());
  free_ -= region.size;
}

// Of a subtree in which all begin at or after `from` the first large one is found on one way down; only the nodes on
// the way to `from` have others.
FreeRegions::Index FreeRegions::first_in(Index node, std::int64_t from, std::int64_t slots) const {
  if (largest_of(node) < slots) return kNone;
  const Node& n = at(node);
  if (n.start < from) return first_in(n.right, from, slots);
  const Index lower = first_in(n.left, from, slots);
  if (lower != kNone) return lower;
  return n.size >= slots ? node : first_in(n.right, from, slots);
}

std::optional<Region> FreeRegions::first_of(std::int64_t from, Tokens slots) const {
  const Index node = first_in(root_, from, slots.count());
  if (node == kNone) return std::nullopt;
  return Region{at(node).start, Tokens(at(node).size)};
}

std::optional<Region> FreeRegions::smallest_of(Tokens slots) const {
  CHECK_LAW(by_size_, "the smallest region of {} slots is not kept track of", slots.count());
  const auto found = sizes_.lower_bound({slots.count(), 0});
  if (found == sizes_.end()) return std::nullopt;
  return Region{found->second, Tokens(found->first)};
}

}  // namespace blockyard::kv
