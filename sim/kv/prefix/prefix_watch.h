// Whether anything was published or withdrawn along the chains of waiting sequences since they were looked up: counters
// of the content tree's nodes, kept only where somebody watches. A chain's sum stands still as long as the blocks that
// a lookup of it meets do; it may rise without that, by a change further along the chain. Cost: O(1) a change, O(nodes
// of the chain) a call.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/kv/prefix/content_tree.h"

namespace blockyard::kv {

class PrefixWatch {
 public:
  // The path keeps its nodes until the end.
  void begin(const Path& path) {
    for (const Piece& piece : path) {
      if (piece.node >= nodes_.size()) nodes_.resize(piece.node + 1);
      ++nodes_[piece.node].watchers;
    }
  }
  void end(const Path& path) {
    for (const Piece& piece : path) --nodes_[piece.node].watchers;
  }
  // A block of the node can be found now, or no more.
  void changed(NodeId node) {
    if (node >= nodes_.size() || nodes_[node].watchers == 0) return;
    ++nodes_[node].changes;
    ++changes_;
  }
  // Of all nodes that were watched at the time; of a chain.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }
  [[nodiscard]] std::uint64_t changes(const Path& path) const {
    std::uint64_t sum = 0;
    for (const Piece& piece : path) sum += nodes_[piece.node].changes;
    return sum;
  }

 private:
  struct Node {
    std::uint32_t watchers = 0;
    std::uint64_t changes = 0;
  };
  std::vector<Node> nodes_;  // by node
  std::uint64_t changes_ = 0;
};

}  // namespace blockyard::kv
