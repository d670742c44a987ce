#include "sim/kv/prefix/content_tree.h"

#include <algorithm>

#include "sim/base/check.h"

namespace blockyard::kv {
namespace {

constexpr NodeId kRoot = 0;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xff51afd7ed558ccdULL;
  return hash ^ (hash >> 33);
}

}  // namespace

ContentTree::ContentTree(Tokens block_size) : block_size_(block_size.count()) {
  nodes_.emplace_back();
  nodes_[kRoot].references = 1;
}

void ContentTree::advance(const Content& content, Cursor& at, std::int64_t tokens) {
  at.offset += tokens;
  while (at.run < content.size() && at.offset >= content[at.run].count) {
    at.offset -= content[at.run].count;
    ++at.run;
  }
}

std::int64_t ContentTree::common_tokens(const Content& content, Cursor at, const Content& label) {
  std::int64_t common = 0;
  std::size_t run = 0;
  std::int64_t offset = 0;
  while (at.run < content.size() && run < label.size()) {
    if (content[at.run].start + at.offset != label[run].start + offset) break;
    const std::int64_t n = std::min(content[at.run].count - at.offset, label[run].count - offset);
    common += n;
    at.offset += n;
    offset += n;
    if (at.offset == content[at.run].count) {
      at.offset = 0;
      ++at.run;
    }
    if (offset == label[run].count) {
      offset = 0;
      ++run;
    }
  }
  return common;
}

// Over the tokens of the fork's first block.
std::uint64_t ContentTree::fork_key(NodeId parent, std::int32_t position, const Content& content, Cursor at) const {
  std::uint64_t hash = mix(parent, static_cast<std::uint64_t>(position));
  for (std::int64_t left = block_size_; left > 0;) {
    const TokenRun& run = content[at.run];
    const std::int64_t n = std::min(left, run.count - at.offset);
    hash = mix(mix(hash, static_cast<std::uint64_t>(run.start + at.offset)), static_cast<std::uint64_t>(n));
    left -= n;
    at.offset = 0;
    ++at.run;
  }
  return hash;
}

NodeId ContentTree::child_at(NodeId parent, std::int32_t position, std::uint64_t key, const Content& content,
                             Cursor at) const {
  const auto found = forks_.find(key);
  if (found == forks_.end()) return kNoNode;
  for (NodeId id = found->second; id != kNoNode; id = nodes_[id].next_sibling) {
    const Node& node = nodes_[id];
    if (node.parent == parent && node.begin == position && common_tokens(content, at, node.label) >= block_size_)
      return id;
  }
  return kNoNode;
}

NodeId ContentTree::add_node(NodeId parent, std::int32_t begin, std::int32_t end) {
  NodeId id = 0;
  if (unused_.empty()) {
    id = static_cast<NodeId>(nodes_.size());
    nodes_.emplace_back();
  } else {
    id = unused_.back();
    unused_.pop_back();
  }
  Node& node = nodes_[id];
  node.parent = parent;
  node.begin = begin;
  node.references = 1;  // the path that made it
  node.blocks.assign(static_cast<std::size_t>(end - begin), kNoBlock);
  ++nodes_[parent].references;
  return id;
}

void ContentTree::intern(const Content& content, Path& path) {
  CHECK_LAW(path.empty(), "a path of {} pieces is made again", path.size());
  std::int64_t tokens = 0;
  for (const TokenRun& run : content) tokens += run.count;
  const auto blocks = static_cast<std::int32_t>(tokens / block_size_);
  NodeId node = kRoot;
  std::int32_t position = 0;
  Cursor at;
  while (position < blocks) {
    const std::uint64_t key = fork_key(node, position, content, at);
    const NodeId child = child_at(node, position, key, content, at);
    if (child == kNoNode) {
      const NodeId fresh = add_node(node, position, blocks);
      Node& n = nodes_[fresh];
      n.key = key;
      n.in_map = true;
      for (std::int64_t left = (blocks - position) * block_size_; left > 0;) {
        const TokenRun& run = content[at.run];
        const std::int64_t taken = std::min(left, run.count - at.offset);
        n.label.push_back({run.start + at.offset, taken});
        left -= taken;
        at.offset = 0;
        ++at.run;
      }
      const auto [entry, first] = forks_.try_emplace(key, fresh);
      if (!first) {
        n.next_sibling = entry->second;
        entry->second = fresh;
      }
      path.push_back({fresh, blocks});
      return;
    }
    Node& n = nodes_[child];
    const auto common = static_cast<std::int32_t>(common_tokens(content, at, n.label) / block_size_);
    const std::int32_t taken = std::min(common, blocks - position);
    ++n.references;
    position += taken;
    advance(content, at, taken * block_size_);
    path.push_back({child, position});
    node = child;
  }
}

void ContentTree::drop(Path& path) {
  for (const Piece& piece : path) release(piece.node);
  path.clear();
}

void ContentTree::dispose(NodeId id) {
  for (;;) {
    Node& node = nodes_[id];
    if (node.in_map) {
      const auto entry = forks_.find(node.key);
      CHECK_LAW(entry != forks_.end(), "node {} is not in the map", id);
      if (entry->second == id) {
        if (node.next_sibling == kNoNode) {
          forks_.erase(entry);
        } else {
          entry->second = node.next_sibling;
        }
      } else {
        NodeId before = entry->second;
        while (nodes_[before].next_sibling != id) before = nodes_[before].next_sibling;
        nodes_[before].next_sibling = node.next_sibling;
      }
    }
    const NodeId parent = node.parent;
    node.next_sibling = kNoNode;
    node.in_map = false;
    node.label.clear();
    node.blocks.clear();
    unused_.push_back(id);
    if (--nodes_[parent].references > 0) return;
    id = parent;
  }
}

void ContentTree::add_duplicate(Node& node, BlockId first, BlockId block) {
  BlockId last = first;
  for (auto next = next_duplicate_.find(last); next != next_duplicate_.end(); next = next_duplicate_.find(last))
    last = next->second;
  next_duplicate_[last] = block;
  ++node.duplicates;
}

void ContentTree::remove_duplicate(Node& node, BlockId& first, BlockId block) {
  const auto own = next_duplicate_.find(block);
  const BlockId next = own == next_duplicate_.end() ? kNoBlock : own->second;
  if (next != kNoBlock) next_duplicate_.erase(block);
  if (first == block) {
    first = next;
    if (next == kNoBlock) {
      --registered_;
    } else {
      --node.duplicates;
    }
    return;
  }
  BlockId before = first;
  while (next_duplicate_.at(before) != block) before = next_duplicate_.at(before);
  if (next == kNoBlock) {
    next_duplicate_.erase(before);
  } else {
    next_duplicate_[before] = next;
  }
  --node.duplicates;
}

std::int64_t ContentTree::reachable() const {
  constexpr std::int32_t kUnknown = -1;
  std::vector<std::int32_t> reach(nodes_.size(), kUnknown);  // by node: the first position that a lookup does not reach
  reach[0] = INT32_MAX;
  std::vector<NodeId> chain;
  std::int64_t sum = 0;
  for (NodeId start = 1; start < nodes_.size(); ++start) {
    if (nodes_[start].blocks.empty()) continue;  // unused
    for (NodeId at = start; reach[at] == kUnknown; at = nodes_[at].parent) chain.push_back(at);
    for (; !chain.empty(); chain.pop_back()) {
      const Node& n = nodes_[chain.back()];
      std::int32_t& first_out = reach[chain.back()];
      first_out = n.begin;
      if (reach[n.parent] < n.begin) continue;
      for (const BlockId block : n.blocks) {
        if (block == kNoBlock) break;
        ++first_out;
      }
      sum += first_out - n.begin;
    }
  }
  return sum;
}

}  // namespace blockyard::kv
