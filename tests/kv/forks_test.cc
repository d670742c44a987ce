// Requests that become several sequences: on pages against block tables spelled out, and one region each elsewhere.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "sim/kv/allocator/paged.h"
#include "sim/kv/allocator/paged_forks.h"
#include "sim/kv/allocator/separate.h"
#include "sim/kv/allocator/strategies.h"
#include "sim/kv/beam_tree.h"

using namespace blockyard;
using namespace blockyard::kv;

namespace {

constexpr Tokens kBlock(4);

class NothingShared final : public ContentSource {
 public:
  void content_of(RequestId /*request*/, Content& /*out*/) override {}
};

SequenceNeed need(std::int64_t prompt, std::int64_t end, std::int64_t width) {
  return {Tokens(prompt), Tokens(end), Tokens(end), width, RequestId{}};
}

// Block tables as an engine has them: blocks with reference counts, copied when one of several owners writes.
class NaiveTables {
 public:
  NaiveTables(std::int64_t width, std::int64_t prompt) : tables_(static_cast<std::size_t>(width)), prompt_(prompt) {}

  // The next token of the prompt, or of every sequence.
  void write() {
    const auto at = static_cast<std::size_t>(written_ / kBlock.count());
    if (written_ < prompt_) {
      if (at == tables_[0].size()) {
        for (auto& table : tables_) table.push_back(blocks_made_);
        ++blocks_made_;
      }
    } else {
      for (auto& table : tables_) {
        if (at == table.size()) {
          table.push_back(blocks_made_++);
        } else if (owners(table[at]) > 1) {
          table[at] = blocks_made_++;
        }
      }
    }
    ++written_;
  }
  void choose(const std::vector<std::int32_t>& parents) {
    const auto before = tables_;
    for (std::size_t b = 0; b < tables_.size(); ++b) tables_[b] = before[static_cast<std::size_t>(parents[b])];
  }
  [[nodiscard]] std::int64_t blocks() const {
    std::set<int> distinct;
    for (const auto& table : tables_) distinct.insert(table.begin(), table.end());
    return static_cast<std::int64_t>(distinct.size());
  }
  [[nodiscard]] std::int64_t written() const { return written_; }
  [[nodiscard]] bool prompt_written() const { return written_ >= prompt_; }
  [[nodiscard]] std::int64_t unshared() const {
    return static_cast<std::int64_t>(tables_.size()) * blocks_for(Tokens(written_), kBlock).count();
  }

 private:
  [[nodiscard]] std::int64_t owners(int block) const {
    return std::count_if(tables_.begin(), tables_.end(), [&](const auto& table) {
      return std::find(table.begin(), table.end(), block) != table.end();
    });
  }

  std::vector<std::vector<int>> tables_;
  std::int64_t prompt_;
  std::int64_t written_ = 0;
  int blocks_made_ = 0;
};

}  // namespace

TEST_CASE("pages shared by samples are those of block tables with copy-on-write") {
  // Counted, and by name in the pool of the prefix cache.
  REQUIRE(rc::check([] {
    static NothingShared nothing_shared;
    MemoryOptions options;
    options.capacity = kBlock * 400;
    options.block_size = kBlock;
    options.forks = true;
    if (*rc::gen::arbitrary<bool>()) options.contents = &nothing_shared;
    const std::unique_ptr<Allocator> made = make_allocator("paged", options);
    Allocator& memory = *made;
    std::map<std::uint32_t, NaiveTables> held;
    std::set<std::uint32_t> decoding;
    const auto check = [&] {
      std::int64_t blocks = 0;
      std::int64_t unshared = 0;
      for (const auto& [id, tables] : held) {
        RC_ASSERT(memory.written(static_cast<SequenceId>(id)).count() == tables.written());
        blocks += tables.blocks();
        unshared += tables.unshared();
      }
      RC_ASSERT(memory.total_grains() - memory.available() == blocks);
      RC_ASSERT(memory.sharing().held == Blocks(blocks));
      RC_ASSERT(memory.sharing().unshared == Blocks(unshared));
      RC_ASSERT(memory.partition().total() == memory.capacity().count());
    };
    const int operations = *rc::gen::inRange(1, 60);
    for (int i = 0; i < operations; ++i) {
      const auto number = static_cast<std::uint32_t>(*rc::gen::inRange(0, 5));
      const auto id = static_cast<SequenceId>(number);
      const auto found = held.find(number);
      switch (*rc::gen::inRange(0, 6)) {
        case 0:  // also of a request that comes back, with more than its prompt
          if (found == held.end()) {
            const std::int64_t prompt = *rc::gen::inRange(1, 12);
            const std::int64_t width = *rc::gen::inRange(1, 6);
            const std::int64_t first = *rc::gen::inRange<std::int64_t>(1, prompt + 6);
            RC_ASSERT(memory.admit(id, need(prompt, 60, width), Tokens(first)) == Grant::granted);
            NaiveTables tables(width, prompt);
            while (tables.written() < first) tables.write();
            held.emplace(number, tables);
          }
          break;
        case 1:
          if (found != held.end() && !decoding.contains(number)) {
            const std::int64_t more = *rc::gen::inRange(0, 7);
            const Tokens total(found->second.written() + more);
            const std::int64_t before = memory.available();
            const std::int64_t demand = memory.demand(id, total);
            RC_ASSERT(memory.grow(id, total) == Grant::granted);
            RC_ASSERT(memory.available() == before - demand);
            for (std::int64_t k = 0; k < more; ++k) found->second.write();
          }
          break;
        case 2:  // who decodes has its prompt
          if (found != held.end() && !decoding.contains(number) && found->second.prompt_written()) {
            memory.start_decoding(id);
            decoding.insert(number);
          }
          break;
        case 3:
          if (decoding.contains(number)) {
            memory.stop_decoding(id);
            decoding.erase(number);
          }
          break;
        case 4: {
          const std::int64_t before = memory.available();
          const std::int64_t demand = memory.decode_demand();
          RC_ASSERT(memory.grow_decoding() == Grant::granted);
          RC_ASSERT(memory.available() == before - demand);
          for (const std::uint32_t n : decoding) held.at(n).write();
          break;
        }
        default:
          if (found != held.end()) {
            memory.release(id);
            if (*rc::gen::arbitrary<bool>()) memory.forget(id);
            decoding.erase(number);
            held.erase(found);
          }
      }
      check();
    }
    for (const auto& [number, tables] : held) memory.release(static_cast<SequenceId>(number));
    RC_ASSERT(memory.available() == memory.total_grains());
    RC_ASSERT(memory.sharing().unshared == Blocks(0));
    RC_ASSERT(memory.partition()[MemoryState::live] == 0);
  }));
}

TEST_CASE("a tree of beams holds the blocks that tables with copy-on-write hold") {
  REQUIRE(rc::check([] {
    const std::int64_t k = *rc::gen::inRange(1, 8);
    const std::int64_t prompt = *rc::gen::inRange(1, 12);
    NaiveTables tables(k, prompt);
    while (tables.written() < prompt) tables.write();
    BeamTree tree;
    tree.start(k, prompt % kBlock.count() != 0);
    const std::int64_t shared = prompt / kBlock.count();
    const int steps = *rc::gen::inRange(1, 40);
    for (int step = 0; step < steps; ++step) {
      if (tables.written() % kBlock.count() == 0) {
        tree.begin_block();
      } else {
        const std::int64_t before = tree.blocks();
        const std::int64_t missing = tree.missing_copies();
        tree.write_on();
        RC_ASSERT(tree.blocks() == before + missing);
      }
      tables.write();
      RC_ASSERT(shared + tree.blocks() == tables.blocks());
      const auto parents = *rc::gen::container<std::vector<std::int32_t>>(
          static_cast<std::size_t>(k), rc::gen::inRange<std::int32_t>(0, static_cast<std::int32_t>(k)));
      const std::int64_t before = tree.blocks();
      tree.choose(parents);
      tables.choose(parents);
      RC_ASSERT(shared + tree.blocks() == tables.blocks());
      RC_ASSERT(before - tree.blocks() == tree.freed_full() + tree.freed_last());
    }
  }));
}

TEST_CASE("beams give back all that they took") {
  REQUIRE(rc::check([] {
    PagedForks memory(Blocks(1000), kBlock, BeamModel{*rc::gen::element(1.0, 0.2, 0.0), 7});
    const int requests = *rc::gen::inRange(1, 5);
    for (int i = 0; i < requests; ++i) {
      const std::int64_t prompt = *rc::gen::inRange(1, 12);
      const std::int64_t width = *rc::gen::inRange(1, 7);
      SequenceNeed n = need(prompt, 100, width);
      n.request = static_cast<RequestId>(i);
      RC_ASSERT(memory.admit(static_cast<SequenceId>(i), n, Tokens(prompt)) == Grant::granted);
      memory.start_decoding(static_cast<SequenceId>(i));
    }
    const int steps = *rc::gen::inRange(1, 40);
    for (int step = 0; step < steps; ++step) {
      const std::int64_t before = memory.available();
      const Blocks freed = memory.choose_parents();
      RC_ASSERT(memory.available() == before + freed.count());
      RC_ASSERT(memory.choose_parents() == Blocks(0));  // once a token
      const std::int64_t demand = memory.decode_demand();
      RC_ASSERT(memory.grow_decoding() == Grant::granted);
      RC_ASSERT(memory.available() == before + freed.count() - demand);
      RC_ASSERT(memory.partition().total() == memory.capacity().count());
      RC_ASSERT(memory.sharing().held <= memory.sharing().unshared);
    }
    for (int i = 0; i < requests; ++i) memory.release(static_cast<SequenceId>(i));
    RC_ASSERT(memory.available() == memory.total_grains());
    RC_ASSERT(memory.partition()[MemoryState::live] == 0);
    RC_ASSERT(memory.sharing().unshared == Blocks(0));
  }));
}

TEST_CASE("memory that cannot share admits all samples of a request or none") {
  const auto make = [] {
    MemoryOptions options;
    options.capacity = Tokens(100);
    options.block_size = Tokens(1);
    options.max_model_len = Tokens(32);
    options.reservation = "oracle";
    options.placement = "first_fit";
    options.forks = true;
    return make_allocator("contiguous", options);
  };
  const auto memory = make();
  const auto first = static_cast<SequenceId>(0);
  const auto second = static_cast<SequenceId>(1);
  REQUIRE(memory->admit(first, need(10, 20, 3), Tokens(10)) == Grant::granted);
  CHECK(memory->available() == 40);
  CHECK(memory->partition()[MemoryState::live] == 10);  // the prompt is written once
  CHECK(memory->admit(second, need(10, 15, 3), Tokens(10)) == Grant::no_space);
  CHECK(memory->available() == 40);
  CHECK(memory->admit(second, need(10, 20, 2), Tokens(10)) == Grant::granted);
  CHECK(memory->available() == 0);
  memory->start_decoding(first);
  REQUIRE(memory->grow_decoding() == Grant::granted);
  CHECK(memory->partition()[MemoryState::live] == 3 * 11 + 10);  // and copied as the samples part
  memory->release(first);
  CHECK(memory->available() == 60);
  memory->release(second);
  CHECK(memory->available() == 100);
}
