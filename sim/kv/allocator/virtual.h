// KV memory that is contiguous in virtual addresses and mapped to physical pages on demand (page_geometry.h). A
// sequence writes into a row of address space, one tensor after the other growing with it; a row whose sequence has
// ended keeps its pages for the next one (keep_pages), or they are unmapped at once.
//   a new sequence takes the row with the fewest kept pages that hold its prompt, else the one with the most (of equal
//   ones the row that ended first, and last), else a new one; what it lacks is mapped from free pages, and where they
//   run out pages that nobody uses are unmapped from the row that ended longest ago, from its end on.
// Mapping and unmapping are counted page by page in MemoryWork; nothing of it is hidden behind a step. Law: used +
// kept + free == pages; no page is in two rows.
// States: tokens are live; the room for whole tokens in the last pages is tail; what is left of the pages of a sequence
// beyond whole tokens is padding; pages that are mapped but used by nobody are cached; free pages are free. They are
// counted in pieces (PageGeometry), since pages need not hold whole tokens.
// Cost: O(1) a step, O(log rows) a page taken, an admission and a release. Source: Prabhu et al., vAttention, ASPLOS
// 2025, sec. 5 and 6; overlapping of mappings with the step before is left out.
#pragma once

#include <cstdint>
#include <memory_resource>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/allocator/due_queue.h"
#include "sim/kv/allocator/page_geometry.h"

namespace blockyard::kv {

class Virtual final : public Allocator {
 public:
  Virtual(std::int64_t pages, const PageGeometry& geometry, bool keep_pages);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  [[nodiscard]] bool order_decides() const override { return true; }
  [[nodiscard]] bool decodes_by_turns() const override { return true; }
  [[nodiscard]] std::int64_t decode_demand() const override;
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId /*id*/, const SequenceNeed& /*need*/,
                                              Tokens first) const override {
    return geometry_.pages_for(first);
  }
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override { return geometry_.pages_for(row_of(id).used); }
  [[nodiscard]] std::int64_t available() const override { return pages_ - used_; }
  [[nodiscard]] std::int64_t total_grains() const override { return pages_; }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return largest_free_; }
  [[nodiscard]] std::int64_t largest_free_pieces() const override {
    return largest_free_.count() * geometry_.pieces_per_token();
  }
  [[nodiscard]] std::int64_t total_pieces() const override { return pages_ * geometry_.pieces_per_page(); }

 private:
  using RowId = std::uint32_t;
  struct Row {
    Tokens mapped;          // all that its pages hold
    Tokens used;            // all that the pages of its sequence hold, <= mapped
    std::uint64_t ended{};  // when its sequence came or went: pages that nobody uses go from the oldest first
    bool taken = false;
  };
  struct Held {
    RowId row = 0;
    std::uint64_t order = 0;  // of admission
    std::int64_t due = -1;    // the decode step in which its pages are full, -1 = it does not decode
  };

  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override;
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> others) override;
  void set_cohorts(std::size_t cohorts) override { due_.set_cohorts(cohorts); }

  [[nodiscard]] RowId row_for(Tokens prompt);
  void use(RowId row, Tokens tokens);
  void unmap_for(std::int64_t pages);
  void list(RowId row);
  void unlist(RowId row);
  Row& row_of(SequenceId id) { return rows_[held_[index_of(id)].row]; }
  [[nodiscard]] const Row& row_of(SequenceId id) const { return rows_[held_[index_of(id)].row]; }

  PageGeometry geometry_;
  bool keep_pages_;
  std::int64_t pages_;
  std::int64_t used_ = 0;  // by sequences
  std::int64_t free_;      // not mapped
  Tokens sum_used_;        // tokens that the pages used hold
  Tokens largest_free_;
  std::vector<Row> rows_;
  std::vector<RowId> empty_rows_;
  std::vector<Held> held_;
  std::uint64_t admissions_ = 0;
  std::uint64_t events_ = 0;
  DueQueue due_;
  std::pmr::unsynchronized_pool_resource pool_;
  // Rows that have pages and no sequence, by what they hold; and all with pages that nobody uses, by `ended`.
  std::pmr::set<std::tuple<Tokens, std::uint64_t, RowId>> kept_{&pool_};
  std::pmr::set<std::pair<std::uint64_t, RowId>> spare_{&pool_};
  std::vector<std::pair<std::uint64_t, Growth>> growing_;  // scratch of do_grow_decoding
};

}  // namespace blockyard::kv
