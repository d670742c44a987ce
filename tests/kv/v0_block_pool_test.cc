// vLLM V0's GPU blocks and evictor: laws on random operations beside a naive model, and the orders by example.
#include "sim/kv/v0/block_pool.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <set>
#include <tuple>

using namespace blockyard;
using namespace blockyard::kv;

namespace {

constexpr Tokens kBlockSize(4);

std::vector<BlockId> free_list(const V0BlockPool& pool) {
  std::vector<BlockId> out;
  pool.free_list(out);
  return out;
}

// A chain of blocks of its own: contents that are never equal to another's.
Path chain(V0BlockPool& pool, std::int64_t start, std::int64_t blocks) {
  Path path;
  pool.contents().intern({{start, blocks * kBlockSize.count()}}, path);
  return path;
}

// What the pool must do, said plainly.
struct Model {
  std::deque<BlockId> list;
  std::map<BlockId, int> owners;
  std::map<BlockId, std::int32_t> registered;                               // block -> position of its content
  std::set<std::tuple<std::int64_t, std::int64_t, BlockId>> to_be_evicted;  // (last access, -tokens, block)

  explicit Model(BlockId blocks) {
    for (BlockId b = 0; b < blocks; ++b) list.push_back(b);
  }
  [[nodiscard]] BlockId find(std::int32_t position) const {
    for (const auto& [block, at] : registered) {
      if (at == position) return block;
    }
    return kNoBlock;
  }
  BlockId take() {
    BlockId block = kNoBlock;
    if (!list.empty()) {
      block = list.front();
      list.pop_front();
    } else {
      block = std::get<2>(*to_be_evicted.begin());
      to_be_evicted.erase(to_be_evicted.begin());
      registered.erase(block);
    }
    owners[block] = 1;
    return block;
  }
  BlockId share(std::int32_t position) {
    const BlockId block = find(position);
    if (block == kNoBlock) return block;
    if (owners[block]++ == 0) std::erase_if(to_be_evicted, [&](const auto& e) { return std::get<2>(e) == block; });
    return block;
  }
  BlockId seal(BlockId block, std::int32_t position) {
    if (find(position) == kNoBlock) {
      registered[block] = position;
      return block;
    }
    release(block, 0);
    return share(position);
  }
  void release(BlockId block, std::int64_t step) {
    if (--owners[block] > 0) return;
    if (registered.count(block) == 0) {
      list.push_front(block);
    } else {
      to_be_evicted.emplace(step, -(registered[block] + 1) * kBlockSize.count(), block);
    }
  }
};

}  // namespace

TEST_CASE("any operations: the pool does what the model does, and the ledger adds up") {
  REQUIRE(rc::check([](const std::vector<std::tuple<std::uint8_t, std::uint8_t>>& operations) {
    constexpr BlockId kBlocks = 7;
    constexpr std::int32_t kContents = 12;
    V0BlockPool pool(Blocks(kBlocks), kBlockSize);
    const Path path = chain(pool, 100, kContents);
    const NodeId node = path.front().node;
    Model model(kBlocks);
    std::vector<BlockId> held;  // one entry an owner
    std::int64_t step = 0;
    for (const auto& [action, which] : operations) {
      const auto position = static_cast<std::int32_t>(which % kContents);
      switch (action % 5) {
        case 0: {
          if (pool.free() == 0) break;
          const BlockId block = pool.take();
          RC_ASSERT(block == model.take());
          held.push_back(block);
          break;
        }
        case 1: {
          const BlockId block = pool.share(node, position);
          RC_ASSERT(block == model.share(position));
          if (block != kNoBlock) held.push_back(block);
          break;
        }
        case 2: {
          const auto bare =
              std::find_if(held.begin(), held.end(), [&](BlockId block) { return model.registered.count(block) == 0; });
          if (bare == held.end()) break;
          const BlockId before = *bare;
          *bare = pool.seal(before, node, position);
          RC_ASSERT(*bare == model.seal(before, position));
          break;
        }
        case 3: {
          if (held.empty()) break;
          const std::size_t i = which % held.size();
          pool.release(held[i], ++step);
          model.release(held[i], step);
          held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
          break;
        }
        default:
          if (!held.empty()) pool.fill(held[which % held.size()], 1 + which % kBlockSize.count());
      }
      const std::vector<BlockId> list = free_list(pool);
      RC_ASSERT(std::equal(list.begin(), list.end(), model.list.begin(), model.list.end()));
      RC_ASSERT(pool.free() == static_cast<std::int64_t>(model.list.size() + model.to_be_evicted.size()));
      RC_ASSERT(pool.contents().registered() == static_cast<std::int64_t>(model.registered.size()));
      const MemoryPartition p = pool.partition();
      RC_ASSERT(p.total() == kBlocks * kBlockSize.count());
      for (const std::int64_t slots : p.slots) RC_ASSERT(slots >= 0);
    }
  }));
}

TEST_CASE("a freed table comes back in reverse order") {
  V0BlockPool pool(Blocks(5), kBlockSize);
  const BlockId a = pool.take();
  const BlockId b = pool.take();
  CHECK(a == 0);
  CHECK(b == 1);
  pool.release(a, 1);
  pool.release(b, 1);
  CHECK(free_list(pool) == std::vector<BlockId>{1, 0, 2, 3, 4});
}

TEST_CASE(
    "blocks with a content are evicted only when the list is empty: the oldest first, then the deepest, then by id") {
  V0BlockPool pool(Blocks(4), kBlockSize);
  const Path path = chain(pool, 100, 4);
  std::vector<BlockId> blocks;
  for (std::int32_t i = 0; i < 4; ++i) blocks.push_back(pool.seal(pool.take(), path[0].node, i));
  pool.release(blocks[0], 7);
  pool.release(blocks[1], 7);
  pool.release(blocks[2], 7);
  pool.release(blocks[3], 5);
  CHECK(pool.free() == 4);
  CHECK(free_list(pool).empty());
  CHECK(pool.take() == blocks[3]);
  CHECK(pool.take() == blocks[2]);
  CHECK(pool.take() == blocks[1]);
  CHECK(pool.evictions() == 3);
  CHECK(pool.share(path[0].node, 0) == blocks[0]);
  CHECK(pool.share(path[0].node, 1) == kNoBlock);
}

TEST_CASE("who fills a block that is there already gives up its own") {
  V0BlockPool pool(Blocks(4), kBlockSize);
  const Path path = chain(pool, 100, 1);
  const BlockId first = pool.seal(pool.take(), path[0].node, 0);
  const BlockId second = pool.take();
  CHECK(pool.seal(second, path[0].node, 0) == first);
  CHECK(free_list(pool).front() == second);
}

TEST_CASE("a registered block counts as computed after the step, or once nobody owns it") {
  V0BlockPool pool(Blocks(4), kBlockSize);
  const Path path = chain(pool, 100, 2);
  const NodeId node = path[0].node;
  const BlockId block = pool.seal(pool.take(), node, 0);
  CHECK_FALSE(pool.computed(node, 0));
  CHECK_FALSE(pool.computed(node, 1));
  pool.settle();
  CHECK(pool.computed(node, 0));

  const BlockId other = pool.seal(pool.take(), node, 1);
  CHECK_FALSE(pool.computed(node, 1));
  pool.release(other, 1);
  CHECK(pool.computed(node, 1));
  CHECK(pool.share(node, 1) == other);
  CHECK(pool.computed(node, 1));
  pool.release(other, 2);
  pool.release(block, 2);
}

TEST_CASE("the ledger: what is begun is live and tail, what is not is reserved, what nobody owns is cached or free") {
  V0BlockPool pool(Blocks(4), kBlockSize);
  const Path path = chain(pool, 100, 1);
  const BlockId full = pool.seal(pool.take(), path[0].node, 0);
  const BlockId begun = pool.take();
  (void)pool.take();
  pool.fill(full, 4);
  pool.fill(begun, 1);
  MemoryPartition p = pool.partition();
  CHECK(p[MemoryState::live] == 5);
  CHECK(p[MemoryState::tail] == 3);
  CHECK(p[MemoryState::reserved] == 4);
  CHECK(p[MemoryState::free] == 4);

  CHECK(pool.share(path[0].node, 0) == full);  // a second owner: live only once
  CHECK(pool.partition()[MemoryState::live] == 5);
  pool.release(full, 1);
  pool.release(full, 1);
  p = pool.partition();
  CHECK(p[MemoryState::live] == 1);
  CHECK(p[MemoryState::cached] == 4);
}
