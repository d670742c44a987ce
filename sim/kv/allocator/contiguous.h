// Contiguous KV memory: one region a sequence, taken at admission. How much is the reservation's (reservation.h), where
// is the placement's (placement.h). Under `grow` a full region is left for one of twice the size and what is written is
// copied; if there is no place the growth is refused, whatever demand and available say. Compaction moves regions
// together, and copies what they hold:
//   never, on_failure  when an admission or a growth finds no place though free >= need and moving would help (a growth
//                      under a victim policy of preemption other than the engine's: another sequence goes instead)
//   a threshold        when a release or an admission leaves 1 - largest free region / free above it and moving helps
// States: written slots are live; up to the true end reserved; up to the reservation over_reserved; up to the region's
// end padding. While an admission is refused although free >= need > the largest free region, all free memory is
// external. A copied token counts in MemoryWork, those planned for the step in hand included.
// Cost: O(1) a step and O(log n) an admission, a release and a doubling in the number n of regions; O(n log n) a
// compaction, or to find that it would not help. Source: Kwon et al., SOSP 2023, sec. 3.1 and 6.1.
#pragma once

#include <memory>
#include <vector>

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/allocator/due_queue.h"
#include "sim/kv/allocator/reservation.h"
#include "sim/kv/placement/placement.h"

namespace blockyard::kv {

struct Compaction {
  bool on_failure = false;
  double threshold = 1;  // fragmentation never exceeds 1: never
};

class Contiguous final : public Allocator {
 public:
  Contiguous(Tokens capacity, const Reservation& reservation, const Compaction& compaction,
             std::unique_ptr<Placement> placement);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  // A refused admission may find a place that a growing neighbour has left.
  [[nodiscard]] bool admission_changed(SequenceId /*id*/) const override { return moves_ != moves_at_refusal_; }
  void forget(SequenceId id) override;
  [[nodiscard]] bool order_decides() const override { return grows(); }
  [[nodiscard]] bool decodes_by_turns() const override { return true; }
  [[nodiscard]] std::int64_t decode_demand() const override;
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const override;
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override {
    return held_[index_of(id)].region.size.count();
  }
  [[nodiscard]] std::int64_t available() const override { return placement_->free().count(); }
  [[nodiscard]] std::int64_t total_grains() const override { return capacity().count(); }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return largest_free_; }

  [[nodiscard]] Region region_of(SequenceId id) const { return held_[index_of(id)].region; }

 private:
  struct Held {
    Region region;
    Tokens reservation;
    Tokens true_end;
    Tokens highest;           // written when it was released last, until it is forgotten
    std::uint64_t order = 0;  // of admission
    std::int64_t due = -1;    // the decode step in which it is full, -1 = it does not decode
    bool open = false;
    [[nodiscard]] Tokens useful() const { return reservation < true_end ? reservation : true_end; }
  };
  struct Move {
    std::uint64_t order = 0;
    SequenceId id = SequenceId::none;
    Tokens total;
    Region from;
    Tokens reservation;  // before
  };

  [[nodiscard]] bool grows() const { return reservation_.rule == ReservationRule::grow; }
  [[nodiscard]] Tokens least_of(SequenceId id, Tokens first) const;
  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override;
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> others) override;
  void set_cohorts(std::size_t cohorts) override { due_.set_cohorts(cohorts); }

  void hold(Held& held, Region region, Tokens reservation);
  void let_go(Held& held);
  void collect_moves(std::span<const Growth> others);
  bool move(Move& move);
  void undo(const Move& move);
  bool make_room(Tokens wanted);
  void compact_if_torn();
  bool compact(Tokens wanted);

  Reservation reservation_;
  Compaction compaction_;
  std::unique_ptr<Placement> placement_;
  Tokens largest_free_;  // cached: it changes only when a region is placed, moved or removed
  Tokens sum_regions_;
  Tokens sum_reservations_;
  Tokens sum_useful_;  // of min(reservation, true end)
  std::vector<Held> held_;
  std::uint64_t admissions_ = 0;
  std::int64_t moves_ = 0;
  std::int64_t moves_at_refusal_ = 0;
  DueQueue due_;
  std::vector<Move> moving_;                               // scratch of do_grow_decoding
  std::vector<std::pair<Region, SequenceId>> by_address_;  // scratch of compact
  std::vector<Region> regions_;
};

}  // namespace blockyard::kv
