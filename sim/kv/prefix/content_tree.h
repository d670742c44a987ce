// The contents of all sequences as one tree of block chains, and which of those blocks are registered, that is,
// findable in the pool.
//
// A node is a stretch of consecutive blocks of a chain; it begins where a chain begins or forks off another, at any
// block of it. A sequence's path is a list of pieces of nodes; the map has one entry a fork, and within a node a block
// is an index. So matching a new sequence costs O(its runs + forks met), and publishing, finding or forgetting a block
// O(1) without hashing. Content is compared token for token (as runs): equal means equal, there are no collisions.
//
// A node lives while a path, a registered block or a child node needs it. Several blocks may hold the same content; the
// earliest registered is the one found. Laws: registered() == number of (node, position) with a block; a path's pieces
// join without gaps.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstdint>
#include <vector>

#include "sim/base/content.h"
#include "sim/base/quantities.h"

namespace blockyard::kv {

using BlockId = std::uint32_t;
using NodeId = std::uint32_t;
inline constexpr BlockId kNoBlock = UINT32_MAX;
inline constexpr NodeId kNoNode = UINT32_MAX;

// Blocks [previous piece's end, end) of a path lie in `node`; positions count blocks from the start of the chain.
struct Piece {
  NodeId node = kNoNode;
  std::int32_t end = 0;
};
using Path = std::vector<Piece>;

class ContentTree {
 public:
  explicit ContentTree(Tokens block_size);

  // The path of the full blocks of a content, made where it is new; `path` (empty before) holds its nodes until drop().
  void intern(const Content& content, Path& path);
  void drop(Path& path);

  // The earliest registered block with the content of `node` at `position`, kNoBlock if there is none.
  [[nodiscard]] BlockId find(NodeId node, std::int32_t position) const {
    const Node& n = nodes_[node];
    return n.blocks[static_cast<std::size_t>(position - n.begin)];
  }
  // Registers `block` there, behind those that hold the same content already.
  void publish(NodeId node, std::int32_t position, BlockId block) {
    Node& n = nodes_[node];
    ++n.references;
    BlockId& first = n.blocks[static_cast<std::size_t>(position - n.begin)];
    if (first == kNoBlock) [[likely]] {
      first = block;
      ++registered_;
    } else {
      add_duplicate(n, first, block);
    }
  }
  void withdraw(NodeId node, std::int32_t position, BlockId block) {
    Node& n = nodes_[node];
    BlockId& first = n.blocks[static_cast<std::size_t>(position - n.begin)];
    if (n.duplicates == 0) [[likely]] {
      first = kNoBlock;
      --registered_;
    } else {
      remove_duplicate(n, first, block);
    }
    if (--n.references == 0) dispose(node);
  }

  // Of the registered contents, those with all contents before them in their chain registered too. O(registered +
  // nodes).
  [[nodiscard]] std::int64_t reachable() const;
  [[nodiscard]] std::int64_t registered() const { return registered_; }
  [[nodiscard]] std::size_t nodes() const { return nodes_.size() - unused_.size(); }

 private:
  struct Node {
    NodeId parent = kNoNode;
    NodeId next_sibling = kNoNode;  // of equal fork key
    std::uint64_t key = 0;
    std::int64_t references = 0;
    std::int32_t begin = 0;
    bool in_map = false;
    std::int32_t duplicates = 0;  // registered blocks beyond the first of a position
    Content label;                // its own tokens, from `begin` on
    std::vector<BlockId> blocks;  // by position - begin: the earliest registered block
  };
  struct Cursor {
    std::size_t run = 0;
    std::int64_t offset = 0;
  };

  [[nodiscard]] std::uint64_t fork_key(NodeId parent, std::int32_t position, const Content& content, Cursor at) const;
  [[nodiscard]] NodeId child_at(NodeId parent, std::int32_t position, std::uint64_t key, const Content& content,
                                Cursor at) const;
  NodeId add_node(NodeId parent, std::int32_t begin, std::int32_t end);
  void release(NodeId node) {
    if (--nodes_[node].references == 0) dispose(node);
  }
  void dispose(NodeId node);  // of a node that nothing needs any more, and its ancestors that only it needed
  void add_duplicate(Node& node, BlockId first, BlockId block);
  void remove_duplicate(Node& node, BlockId& first, BlockId block);

  static void advance(const Content& content, Cursor& at, std::int64_t tokens);
  [[nodiscard]] static std::int64_t common_tokens(const Content& content, Cursor at, const Content& label);

  std::int64_t block_size_;
  std::vector<Node> nodes_;  // nodes_[0] is the root, without blocks
  std::vector<NodeId> unused_;
  boost::unordered_flat_map<std::uint64_t, NodeId> forks_;
  boost::unordered_flat_map<BlockId, BlockId> next_duplicate_;  // by block; few blocks have one
  std::int64_t registered_ = 0;
};

}  // namespace blockyard::kv
