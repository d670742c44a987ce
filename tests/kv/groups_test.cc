// The prefix cache of layers that keep unlike pasts, against the engine's managers in the plainest words, block by
// block; and, with one table that looks back at everything, against the allocator that the recorded runs prove.
#include "sim/kv/allocator/paged_groups.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "sim/kv/allocator/paged_cached.h"

using namespace blockyard;
using namespace blockyard::kv;

namespace {

using Spelled = std::vector<std::int64_t>;

Tokens tokens(std::size_t n) { return Tokens(static_cast<std::int64_t>(n)); }

// Prompts that share beginnings: request r says what these lists say.
class Said final : public ContentSource {
 public:
  explicit Said(std::vector<Spelled> all) : all_(std::move(all)) {}
  void content_of(RequestId request, Content& out) override {
    for (const std::int64_t token : all_[index_of(request)]) append_run(out, {token, 1});
  }
  [[nodiscard]] const Spelled& of(std::uint32_t n) const { return all_[n]; }

 private:
  std::vector<Spelled> all_;
};

// Block 0 is the null block. A cached block is known by its table and the tokens up to its end.
class NaiveEngine {
 public:
  NaiveEngine(std::int64_t blocks, std::size_t block_size, std::vector<std::size_t> windows)
      : size_(block_size), windows_(std::move(windows)), references_(static_cast<std::size_t>(blocks)) {
    for (BlockId b = 1; b < blocks; ++b) free_.push_back(b);
  }

  [[nodiscard]] std::size_t lookup(const Spelled& said, std::size_t length) const {
    std::size_t hit = std::min((length - 1) / size_, said.size() / size_);
    for (bool again = true; again;) {
      again = false;
      for (const std::size_t window : windows_) {
        const std::size_t cut = window == 0 ? leading(said, hit) : at_the_end(said, window, hit);
        again = again || cut < hit;
        hit = cut;
      }
    }
    return hit;
  }

  bool admit(std::uint32_t n, const Spelled& said, std::size_t hit, std::size_t first) {
    std::vector<std::vector<BlockId>> tables(windows_.size());
    std::size_t idle = 0;
    for (std::size_t t = 0; t < windows_.size(); ++t) {
      const std::size_t kept = windows_[t] == 0 ? hit : std::max<std::size_t>(1, (windows_[t] - 1 + size_ - 1) / size_);
      for (std::size_t i = 0; i < hit; ++i) {
        tables[t].push_back(i + kept < hit ? 0 : *cached(t, said, i));
        if (tables[t][i] != 0 && references_[tables[t][i]] == 0) ++idle;
      }
    }
    const std::size_t more = (first + size_ - 1) / size_ - hit;
    if (more * windows_.size() + idle > free_.size()) return false;
    for (const auto& table : tables) {
      for (const BlockId b : table) {
        if (b != 0 && references_[b]++ == 0) std::erase(free_, b);
      }
    }
    held_[n] = {said, tables, hit, order_++};
    fill(held_[n], first);
    return true;
  }

  // What a growth would take and free.
  [[nodiscard]] bool fits(std::uint32_t n, std::size_t computed, std::size_t total) const {
    if (total == computed) return true;
    const Held& held = held_.at(n);
    std::size_t free = free_.size();
    for (std::size_t t = 0; t < windows_.size(); ++t) {
      for (std::size_t i = 0; i < out_of_window(t, computed); ++i) {
        if (held.tables[t][i] != 0 && references_[held.tables[t][i]] == 1) ++free;
      }
    }
    return ((total + size_ - 1) / size_ - held.tables[0].size()) * windows_.size() <= free;
  }
  void grow(std::uint32_t n, std::size_t computed, std::size_t total) {
    if (total == computed) return;
    Held& held = held_.at(n);
    for (std::size_t t = 0; t < windows_.size(); ++t) {
      for (std::size_t i = out_of_window(t, computed); i-- > 0;) {
        if (held.tables[t][i] == 0) break;
        give(held.tables[t][i]);
        held.tables[t][i] = 0;
      }
    }
    fill(held, total);
  }
  void release(std::uint32_t n) {
    for (const auto& table : held_.at(n).tables) {
      for (std::size_t i = table.size(); i-- > 0;) {
        if (table[i] != 0) give(table[i]);
      }
    }
    held_.erase(n);
  }

  [[nodiscard]] const std::deque<BlockId>& free_queue() const { return free_; }
  [[nodiscard]] const std::vector<BlockId>& table(std::uint32_t n, std::size_t t) const {
    return held_.at(n).tables[t];
  }
  [[nodiscard]] std::size_t block_size() const { return size_; }
  [[nodiscard]] std::uint64_t order(std::uint32_t n) const { return held_.at(n).order; }

 private:
  using Name = std::pair<std::size_t, Spelled>;
  struct Held {
    Spelled said;
    std::vector<std::vector<BlockId>> tables;
    std::size_t named = 0;
    std::uint64_t order = 0;
  };

  [[nodiscard]] Name name(std::size_t t, const Spelled& said, std::size_t i) const {
    return {t, Spelled(said.begin(), said.begin() + static_cast<std::ptrdiff_t>((i + 1) * size_))};
  }
  [[nodiscard]] std::optional<BlockId> cached(std::size_t t, const Spelled& said, std::size_t i) const {
    const auto found = named_.find(name(t, said, i));
    if (found == named_.end()) return std::nullopt;
    return found->second.front();
  }
  [[nodiscard]] bool cached_in_all(std::size_t window, const Spelled& said, std::size_t i) const {
    for (std::size_t t = 0; t < windows_.size(); ++t) {
      if (windows_[t] == window && !cached(t, said, i)) return false;
    }
    return true;
  }
  [[nodiscard]] std::size_t leading(const Spelled& said, std::size_t most) const {
    std::size_t hit = 0;
    while (hit < most && cached_in_all(0, said, hit)) ++hit;
    return hit;
  }
  // From the end to the beginning, until so many lie side by side.
  [[nodiscard]] std::size_t at_the_end(const Spelled& said, std::size_t window, std::size_t most) const {
    const std::size_t wanted = (window - 1 + size_ - 1) / size_;
    std::size_t together = 0;
    for (std::size_t i = most; i-- > 0;) {
      together = cached_in_all(window, said, i) ? together + 1 : 0;
      if (together > 0 && together >= wanted) return i + together;
    }
    return together;
  }
  [[nodiscard]] std::size_t out_of_window(std::size_t t, std::size_t computed) const {
    return windows_[t] == 0 || computed + 1 < windows_[t] ? 0 : (computed - windows_[t] + 1) / size_;
  }
  void fill(Held& held, std::size_t total) {
    for (std::size_t t = 0; t < windows_.size(); ++t) {
      while (held.tables[t].size() * size_ < total) {
        const BlockId b = free_.front();
        free_.pop_front();
        if (const auto old = names_.find(b); old != names_.end()) {
          auto& same = named_.at(old->second);
          std::erase(same, b);
          if (same.empty()) named_.erase(old->second);
          names_.erase(old);
        }
        references_[b] = 1;
        held.tables[t].push_back(b);
      }
    }
    const std::size_t full = std::min(total, held.said.size()) / size_;
    for (std::size_t t = 0; t < windows_.size(); ++t) {
      for (std::size_t i = held.named; i < full; ++i) {
        const BlockId b = held.tables[t][i];
        names_[b] = name(t, held.said, i);
        named_[names_[b]].push_back(b);
      }
    }
    held.named = std::max(held.named, full);
  }
  void give(BlockId b) {
    if (--references_[b] == 0) free_.push_back(b);
  }

  std::size_t size_;
  std::vector<std::size_t> windows_;  // by table; 0 looks back at everything
  std::vector<std::size_t> references_;
  std::deque<BlockId> free_;
  std::map<BlockId, Name> names_;
  std::map<Name, std::vector<BlockId>> named_;
  std::map<std::uint32_t, Held> held_;
  std::uint64_t order_ = 0;
};

// A dozen requests whose tokens come from three stems, cut at any place.
std::vector<Spelled> random_contents() {
  std::vector<Spelled> all;
  for (std::int64_t r = 0; r < 12; ++r) {
    const std::int64_t stem = *rc::gen::inRange<std::int64_t>(0, 3);
    const std::int64_t common = *rc::gen::inRange<std::int64_t>(0, 60);
    const std::int64_t length = *rc::gen::inRange<std::int64_t>(1, 70);
    Spelled spelled;
    for (std::int64_t i = 0; i < length; ++i)
      spelled.push_back(i < common ? 1000 * stem + i : 10'000 * (r + 1) + 2 * i);
    all.push_back(spelled);
  }
  return all;
}

struct Running {
  std::size_t written = 0;
  std::size_t end = 0;
  bool decoding = false;
};

// Random operations on `memory`; same(n) compares it with `plain` after each, hit(found, expected) after a lookup.
template <class Memory, class Same>
void try_out(Memory& memory, NaiveEngine& plain, const Said& said, const Same& same) {
  std::map<std::uint32_t, Running> running;
  const auto operations = *rc::gen::container<std::vector<std::tuple<int, int, int>>>(
      rc::gen::tuple(rc::gen::inRange(0, 8), rc::gen::inRange(0, 12), rc::gen::inRange(0, 1000)));
  for (const auto& [action, which, amount] : operations) {
    const auto n = static_cast<std::uint32_t>(which);
    const auto id = static_cast<SequenceId>(n);
    const auto found = running.find(n);
    const bool here = found != running.end();
    if (action <= 2 && !here) {
      const std::size_t length = said.of(n).size();
      const std::size_t hit = plain.lookup(said.of(n), length);
      const Tokens prefix = memory.find_prefix(id, RequestId{n}, tokens(length));
      const std::size_t found_tokens = static_cast<std::size_t>(prefix.count());
      const std::size_t first = found_tokens + 1 + static_cast<std::size_t>(amount) % (length - found_tokens);
      const SequenceNeed need{tokens(length), tokens(length), tokens(length)};
      RC_ASSERT(prefix == tokens(hit * plain.block_size()));
      RC_ASSERT(prefix == memory.find_prefix(id, RequestId{n}, need.prompt));
      RC_ASSERT(!memory.admission_changed(id));
      const bool granted = memory.admit(id, need, tokens(first)) == Grant::granted;
      RC_ASSERT(granted == plain.admit(n, said.of(n), hit, first));
      if (granted) running[n] = {first, length + static_cast<std::size_t>(amount) % 40, false};
    } else if (action == 3 && here && !found->second.decoding) {
      Running& r = found->second;
      const std::size_t total = std::max(r.written, std::min(r.end, r.written + static_cast<std::size_t>(amount) % 20));
      const bool granted = memory.grow(id, tokens(total)) == Grant::granted;
      RC_ASSERT(granted == plain.fits(n, r.written, total));
      if (granted) {
        plain.grow(n, r.written, total);
        r.written = total;
      }
    } else if (action == 4 && here) {
      if (found->second.decoding) {
        memory.stop_decoding(id);
      } else {
        memory.start_decoding(id);
      }
      found->second.decoding = !found->second.decoding;
    } else if (action == 5 || action == 6) {
      std::vector<std::pair<std::uint64_t, std::uint32_t>> order;
      for (const auto& [m, r] : running) {
        if (r.decoding) order.emplace_back(plain.order(m), m);
      }
      std::ranges::sort(order);
      if (memory.grow_decoding() == Grant::granted) {
        for (const auto& [o, m] : order) {
          RC_ASSERT(plain.fits(m, running[m].written, running[m].written + 1));
          plain.grow(m, running[m].written, running[m].written + 1);
          ++running[m].written;
        }
      } else {
        RC_ASSERT(!order.empty());
      }
    } else if (action == 7 && here) {
      if (found->second.decoding) memory.stop_decoding(id);
      memory.release(id);
      if (amount % 2 == 0) memory.forget(id);
      plain.release(n);
      running.erase(found);
    }
    for (const auto& [m, r] : running) same(m);
    std::vector<BlockId> queue;
    memory.free_queue(queue);
    RC_ASSERT(std::ranges::equal(queue, plain.free_queue()));
    RC_ASSERT(memory.partition().total() == memory.total_pieces());
    for (const std::int64_t pieces : memory.partition().slots) RC_ASSERT(pieces >= 0);
  }
}

}  // namespace

TEST_CASE("a prefix cache of unlike layers does block by block what the engine's managers do") {
  CHECK(rc::check("tables of several windows", [] {
    const std::size_t size = *rc::gen::elementOf(std::vector<std::size_t>{1, 2, 4, 7});
    const auto windows = *rc::gen::elementOf(std::vector<std::vector<std::size_t>>{
        {0, 9}, {0, 9, 9}, {0, 0, 20}, {5}, {13, 13}, {0, 1}, {0, 5, 17}, {3, 30}});
    Said said(random_contents());
    const std::int64_t blocks = 2 + *rc::gen::inRange<std::int64_t>(60, 300) / static_cast<std::int64_t>(size);
    NaiveEngine plain(blocks, size, windows);
    std::vector<BlockTables> tables;
    for (const std::size_t window : windows) {
      tables.push_back({tokens(window), 1, tokens(size), 1});
    }
    PagedGroups memory(Blocks(blocks), static_cast<std::int64_t>(size), tables, Tokens(64), said);
    try_out(memory, plain, said, [&](std::uint32_t n) {
      for (std::size_t t = 0; t < windows.size(); ++t) {
        const std::vector<BlockId>& table = memory.block_table(static_cast<SequenceId>(n), t);
        const std::vector<BlockId>& expected = plain.table(n, t);
        RC_ASSERT(table.size() == expected.size());
        for (std::size_t i = 0; i < table.size(); ++i) {
          RC_ASSERT(table[i] == (expected[i] == 0 ? kNoBlock : expected[i]));
        }
      }
    });
  }));
}

TEST_CASE("one table that looks back at everything is the engine's common prefix cache") {
  CHECK(rc::check("one table", [] {
    const std::size_t size = *rc::gen::elementOf(std::vector<std::size_t>{1, 2, 4, 7});
    Said said(random_contents());
    const std::int64_t blocks = 2 + *rc::gen::inRange<std::int64_t>(60, 200) / static_cast<std::int64_t>(size);
    NaiveEngine plain(blocks, size, {0});
    PagedCached memory(Blocks(blocks), tokens(size), true, &said);
    try_out(memory, plain, said,
            [&](std::uint32_t n) { RC_ASSERT(memory.block_table(static_cast<SequenceId>(n)) == plain.table(n, 0)); });
  }));
}
