// The content tree against a plain model: the blocks of a sequence are equal to those of another exactly as far as
// their tokens are.
#include "sim/kv/prefix/content_tree.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <vector>

using namespace blockyard;
using namespace blockyard::kv;

namespace {

using TokenList = std::vector<std::int64_t>;

// Contents made of few short runs, so that they share beginnings often and fork at odd places.
Content random_content() {
  Content content;
  const int runs = *rc::gen::inRange(1, 6);
  for (int i = 0; i < runs; ++i)
    append_run(content, {*rc::gen::element<std::int64_t>(0, 3, 100, 200), *rc::gen::inRange(1, 9)});
  return content;
}

TokenList tokens_of(const Content& content) {
  TokenList tokens;
  for (const TokenRun& run : content) {
    for (std::int64_t i = 0; i < run.count; ++i) tokens.push_back(run.start + i);
  }
  return tokens;
}

NodeId node_at(const Path& path, std::int32_t position) {
  for (const Piece& piece : path) {
    if (position < piece.end) return piece.node;
  }
  return kNoNode;
}

}  // namespace

TEST_CASE("append_run gives equal token sequences equal contents") {
  Content a;
  append_run(a, {5, 3});
  append_run(a, {8, 2});
  append_run(a, {1, 0});
  Content b;
  append_run(b, {5, 5});
  CHECK(a == b);
}

TEST_CASE("paths meet exactly where tokens are equal, and the tree forgets what nothing needs") {
  REQUIRE(rc::check([] {
    const Tokens block_size(*rc::gen::inRange(1, 5));
    ContentTree tree(block_size);
    const auto bs = static_cast<std::size_t>(block_size.count());
    std::vector<Path> paths;
    std::vector<TokenList> tokens;
    const int n = *rc::gen::inRange(1, 12);
    for (int i = 0; i < n; ++i) {
      const Content content = random_content();
      Path path;
      tree.intern(content, path);
      tokens.push_back(tokens_of(content));
      const auto blocks = static_cast<std::int32_t>(tokens.back().size() / bs);
      RC_ASSERT((path.empty() ? 0 : path.back().end) == blocks);
      for (std::size_t j = 0; j < paths.size(); ++j) {
        const std::size_t shorter = std::min(tokens.back().size(), tokens[j].size()) / bs;
        for (std::size_t block = 0; block < shorter; ++block) {
          const std::size_t end = (block + 1) * bs;
          const bool equal = std::equal(tokens.back().begin(), tokens.back().begin() + static_cast<std::ptrdiff_t>(end),
                                        tokens[j].begin());
          const auto position = static_cast<std::int32_t>(block);
          RC_ASSERT((node_at(path, position) == node_at(paths[j], position)) == equal);
        }
      }
      paths.push_back(path);
    }
    for (Path& path : paths) tree.drop(path);
    RC_ASSERT(tree.nodes() == 1);  // the root
  }));
}

TEST_CASE("the earliest registered block is found, however blocks of equal content come and go") {
  REQUIRE(rc::check([] {
    ContentTree tree(Tokens(2));
    Path path;
    tree.intern({{0, 6}}, path);
    std::map<std::int32_t, std::deque<BlockId>> registered;  // by position, in order of registration
    BlockId next = 1;
    const auto actions = *rc::gen::container<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 3), rc::gen::inRange(0, 100)));
    for (const auto& [position_or_out, which] : actions) {
      const std::int32_t position = which % 3;
      std::deque<BlockId>& blocks = registered[position];
      if (position_or_out > 0 || blocks.empty()) {
        tree.publish(node_at(path, position), position, next);
        blocks.push_back(next++);
      } else {
        const auto gone = blocks.begin() + which % static_cast<std::ptrdiff_t>(blocks.size());
        tree.withdraw(node_at(path, position), position, *gone);
        blocks.erase(gone);
      }
      std::int64_t distinct = 0;
      for (const auto& [at, list] : registered) {
        RC_ASSERT(tree.find(node_at(path, at), at) == (list.empty() ? kNoBlock : list.front()));
        distinct += list.empty() ? 0 : 1;
      }
      RC_ASSERT(tree.registered() == distinct);
    }
    for (const auto& [position, list] : registered) {
      for (const BlockId block : list) tree.withdraw(node_at(path, position), position, block);
    }
    tree.drop(path);
    RC_ASSERT(tree.nodes() == 1);
  }));
}
