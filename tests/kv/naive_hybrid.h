// Paged memory of layers that keep unlike pasts, in the plainest words (reference.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "tests/kv/reference.h"

namespace blockyard::kv_tests {

using kv::MemoryOptions;
using kv::SequenceNeed;

// For each table of each sequence the blocks that it has, by their position.
class NaiveHybrid final : public Copyable<NaiveHybrid> {
 public:
  explicit NaiveHybrid(const MemoryOptions& o)
      : block_pieces_(o.block_pieces), blocks_(o.capacity.count() / o.block_size.count()), kinds_(o.tables) {}

  [[nodiscard]] MemoryPartition partition() const override {
    MemoryPartition p;
    for (const auto& [n, kinds] : held_blocks_) {
      for (std::size_t k = 0; k < kinds_.size(); ++k) {
        const kv::BlockTables& kind = kinds_[k];
        for (const std::int64_t position : kinds[k]) {
          std::int64_t used = kind.pieces;
          std::int64_t live = kind.pieces;
          if (kind.block > Tokens(0)) {
            used *= kind.block.count();
            live *= std::min(kind.block.count(), held_.at(n).written.count() - position * kind.block.count());
          }
          p[MemoryState::live] += live;
          p[MemoryState::tail] += used - live;
          p[MemoryState::padding] += kind.count * block_pieces_ - used;
        }
      }
    }
    p[MemoryState::free] = free() * block_pieces_;
    return p;
  }
  [[nodiscard]] std::int64_t largest_free() const override {
    std::int64_t tokens = 0;
    while (blocks_of(tokens + 1) <= free() && tokens < 100'000) ++tokens;
    return tokens;
  }

 private:
  [[nodiscard]] static std::int64_t ceil_of(const kv::BlockTables& kind, std::int64_t tokens) {
    if (kind.block == Tokens(0)) return tokens > 0 ? 1 : 0;
    return (tokens + kind.block.count() - 1) / kind.block.count();
  }
  [[nodiscard]] std::int64_t blocks_of(std::int64_t tokens) const {
    std::int64_t blocks = 0;
    for (const auto& kind : kinds_) blocks += kind.count * ceil_of(kind, tokens);
    return blocks;
  }
  [[nodiscard]] std::int64_t free() const {
    std::int64_t free = blocks_;
    for (const auto& [n, kinds] : held_blocks_) {
      for (std::size_t k = 0; k < kinds_.size(); ++k) free -= kinds_[k].count * std::ssize(kinds[k]);
    }
    return free;
  }
  bool take(std::uint32_t n, const SequenceNeed&, Tokens first) override {
    held_blocks_[n].resize(kinds_.size());
    if (append(n, 0, first.count())) return true;
    held_blocks_.erase(n);
    return false;
  }
  // A query at position c sees keys from c - window + 1 on; blocks that end before that are freed.
  bool extend(std::uint32_t n, Tokens total, bool) override {
    const std::int64_t computed = held_[n].written.count();
    if (total.count() == computed) return true;
    const auto before = held_blocks_[n];
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      if (kinds_[k].window == Tokens(0)) continue;
      std::erase_if(held_blocks_[n][k], [&](std::int64_t position) {
        return (position + 1) * kinds_[k].block.count() <= computed - kinds_[k].window.count() + 1;
      });
    }
    if (append(n, computed, total.count())) return true;
    held_blocks_[n] = before;
    return false;
  }
  bool append(std::uint32_t n, std::int64_t from, std::int64_t to) {
    if (blocks_of(to) - blocks_of(from) > free()) return false;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const std::int64_t end = ceil_of(kinds_[k], to);
      for (std::int64_t position = ceil_of(kinds_[k], from); position < end; ++position) {
        held_blocks_[n][k].push_back(position);
      }
    }
    return true;
  }
  void give(std::uint32_t n) override {
    held_blocks_.erase(n);
    held_.erase(n);
  }

  std::int64_t block_pieces_;
  std::int64_t blocks_;
  std::vector<kv::BlockTables> kinds_;
  std::map<std::uint32_t, std::vector<std::vector<std::int64_t>>> held_blocks_;  // by kind of tables
};

}  // namespace blockyard::kv_tests
