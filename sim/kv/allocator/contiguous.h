// Contiguous KV memory: one region a sequence, taken whole at admission. How much is the reservation's, where is the
// placement's.
//   max_model_len  every region holds the longest possible sequence (Orca Max)
//   max_tokens     the prompt and the declared output
//   pow2           the prompt and the output rounded up to a power of two, as a predictor off by less than twice would
//                  have it (Orca Pow2: 25 -> 32); not beyond max_model_len
//   oracle         exactly what will be written: prompt + output - 1 (Orca Oracle)
// States: written slots are live; up to the true end reserved; up to the reservation over_reserved; up to the region's
// end padding. While an admission is refused although free >= need > the largest free region, all free memory is
// external. Cost: O(1) a step, the placement's cost an admission and a release. Source: Kwon et al., SOSP 2023,
// sec. 3.1 and 6.1.
#pragma once

#include <memory>

#include "sim/kv/allocator/allocator.h"
#include "sim/kv/placement/placement.h"

namespace blockyard::kv {

enum class Reservation { max_model_len, max_tokens, pow2, oracle };

class Contiguous final : public Allocator {
 public:
  Contiguous(Tokens capacity, Reservation reservation, Tokens max_model_len, std::unique_ptr<Placement> placement);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  [[nodiscard]] std::int64_t decode_demand() const override { return 0; }
  [[nodiscard]] std::int64_t demand(SequenceId /*id*/, Tokens /*total*/) const override { return 0; }
  [[nodiscard]] std::int64_t admission_demand(SequenceId /*id*/, const SequenceNeed& need, Tokens first) const override;
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override {
    return held_[index_of(id)].region.size.count();
  }
  [[nodiscard]] std::int64_t available() const override { return placement_->free().count(); }
  [[nodiscard]] std::int64_t total_grains() const override { return capacity().count(); }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return largest_free_; }

 private:
  struct Held {
    Region region;
    Tokens reservation;
    Tokens true_end;
  };

  [[nodiscard]] Tokens reservation_for(const SequenceNeed& need) const;
  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId /*id*/, Tokens /*written*/) override {}
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> /*others*/) override { return Grant::granted; }

  Reservation reservation_;
  Tokens max_model_len_;
  std::unique_ptr<Placement> placement_;
  Tokens largest_free_;  // cached: it changes only when a region is placed or removed
  Tokens sum_regions_;
  Tokens sum_reservations_;
  Tokens sum_true_ends_;
  std::vector<Held> held_;
};

}  // namespace blockyard::kv
