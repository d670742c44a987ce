#include "sim/kv/allocator/contiguous.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace blockyard::kv {

Contiguous::Contiguous(Tokens capacity, Reservation reservation, Tokens max_model_len,
                       std::unique_ptr<Placement> placement)
    : Allocator(capacity),
      reservation_(reservation),
      max_model_len_(max_model_len),
      placement_(std::move(placement)),
      largest_free_(placement_->largest_free()) {}

Tokens Contiguous::reservation_for(const SequenceNeed& need) const {
  // Neither a declaration nor a prediction reaches beyond the model's limit, whose last token is never computed.
  const auto up_to = [&](Tokens end) { return std::max(need.true_end, std::min(end, max_model_len_ - Tokens(1))); };
  switch (reservation_) {
    case Reservation::max_model_len:
      return max_model_len_;
    case Reservation::max_tokens:
      return up_to(need.declared_end);
    case Reservation::pow2: {
      const auto output = static_cast<std::uint64_t>((need.true_end - need.prompt).count()) + 1;
      return up_to(need.prompt + Tokens(static_cast<std::int64_t>(std::bit_ceil(output)) - 1));
    }
    case Reservation::oracle:
      return need.true_end;
  }
  return need.true_end;
}

std::string Contiguous::why_never(const SequenceNeed& need) const {
  const Tokens reservation = reservation_for(need);
  if (need.true_end > reservation) {
    return fmt::format("writes {} tokens, a region holds max_model_len = {}", need.true_end.count(),
                       reservation.count());
  }
  const Tokens region = placement_->rounded(reservation);
  if (region > placement_->largest_ever()) {
    return fmt::format("needs a region of {} slots, an empty arena gives at most {}", region.count(),
                       placement_->largest_ever().count());
  }
  return "";
}

std::int64_t Contiguous::admission_demand(SequenceId /*id*/, const SequenceNeed& need, Tokens /*first*/) const {
  return placement_->rounded(reservation_for(need)).count();
}

Grant Contiguous::do_admit(SequenceId id, const SequenceNeed& need, Tokens first) {
  const Tokens reservation = reservation_for(need);
  CHECK_LAW(first <= reservation, "the first {} tokens exceed the reservation of {}", first.count(),
            reservation.count());
  const std::optional<Region> region = placement_->place(reservation);
  if (!region) {
    const Tokens wanted = placement_->rounded(reservation);
    if (placement_->free() >= wanted && wanted > largest_free_) set_refused_although_free();
    return Grant::no_space;
  }
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  held_[index_of(id)] = {*region, reservation, need.true_end};
  sum_regions_ += region->size;
  sum_reservations_ += reservation;
  sum_true_ends_ += need.true_end;
  largest_free_ = placement_->largest_free();
  return Grant::granted;
}

Grant Contiguous::do_grow(SequenceId id, Tokens /*from*/, Tokens to) {
  const Held& held = held_[index_of(id)];
  CHECK_LAW(to <= held.true_end, "sequence {} writes {} tokens, its true end is {}", index_of(id), to.count(),
            held.true_end.count());
  return Grant::granted;
}

void Contiguous::do_stop_decoding(SequenceId id, Tokens written) {
  const Held& held = held_[index_of(id)];
  CHECK_LAW(written <= held.true_end, "sequence {} wrote {} tokens, its true end is {}", index_of(id), written.count(),
            held.true_end.count());
}

void Contiguous::do_release(SequenceId id, Tokens /*written*/) {
  const Held& held = held_[index_of(id)];
  placement_->remove(held.region);
  sum_regions_ -= held.region.size;
  sum_reservations_ -= held.reservation;
  sum_true_ends_ -= held.true_end;
  largest_free_ = placement_->largest_free();
}

MemoryPartition Contiguous::partition() const {
  CHECK_LAW(sum_regions_ + placement_->free() == capacity(), "regions {} + free {} != {}", sum_regions_.count(),
            placement_->free().count(), capacity().count());
  MemoryPartition p;
  p[MemoryState::live] = total_written().count();
  p[MemoryState::reserved] = (sum_true_ends_ - total_written()).count();
  p[MemoryState::over_reserved] = (sum_reservations_ - sum_true_ends_).count();
  p[MemoryState::padding] = (sum_regions_ - sum_reservations_).count();
  p[refused_although_free() ? MemoryState::external : MemoryState::free] = placement_->free().count();
  return p;
}

}  // namespace blockyard::kv
