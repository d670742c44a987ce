#include "sim/kv/allocator/contiguous.h"

#include <algorithm>
#include <utility>

namespace blockyard::kv {

Contiguous::Contiguous(Tokens capacity, const Reservation& reservation, const Compaction& compaction,
                       std::unique_ptr<Placement> placement)
    : Allocator(capacity),
      reservation_(reservation),
      compaction_(compaction),
      placement_(std::move(placement)),
      largest_free_(placement_->largest_free()) {
  reservation_.largest_region = placement_->largest_ever();
}

std::string Contiguous::why_never(const SequenceNeed& need) const {
  const Tokens reservation = reservation_.last(need);
  const Tokens region = placement_->rounded(std::max(reservation, need.true_end));
  if (region > placement_->largest_ever()) {
    return fmt::format("needs a region of {} slots, an empty arena gives at most {}", region.count(),
                       placement_->largest_ever().count());
  }
  if (need.true_end > reservation) {
    return fmt::format("writes {} tokens, a region holds max_model_len = {}", need.true_end.count(),
                       reservation.count());
  }
  return "";
}

// What a sequence has to have room for when it is admitted: its first chunk, and all that it had written before a
// preemption with the token that comes next.
Tokens Contiguous::least_of(SequenceId id, Tokens first) const {
  if (index_of(id) >= held_.size() || held_[index_of(id)].highest == Tokens(0)) return first;
  return std::max(first, held_[index_of(id)].highest + Tokens(1));
}

std::int64_t Contiguous::admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const {
  return placement_->rounded(reservation_.first(need, least_of(id, first))).count();
}

std::int64_t Contiguous::demand(SequenceId id, Tokens total) const {
  const Held& held = held_[index_of(id)];
  return total <= held.reservation ? 0 : placement_->rounded(reservation_.next(held.reservation, total)).count();
}

std::int64_t Contiguous::decode_demand() const {
  std::int64_t sum = 0;
  due_.for_each_due(cohort(), decode_steps(), [&](const DueQueue::Entry& entry) {
    sum += demand(entry.id, held_[index_of(entry.id)].reservation + Tokens(1));
  });
  return sum;
}

void Contiguous::hold(Held& held, Region region, Tokens reservation) {
  held.region = region;
  held.reservation = reservation;
  sum_regions_ += region.size;
  sum_reservations_ += reservation;
  sum_useful_ += held.useful();
}

void Contiguous::let_go(Held& held) {
  sum_regions_ -= held.region.size;
  sum_reservations_ -= held.reservation;
  sum_useful_ -= held.useful();
}

Grant Contiguous::do_admit(SequenceId id, const SequenceNeed& need, Tokens first) {
  const Tokens reservation = reservation_.first(need, least_of(id, first));
  if (grows() && first > reservation) return Grant::no_space;  // not even an empty arena holds it
  CHECK_LAW(first <= reservation, "the first {} tokens exceed the reservation of {}", first.count(),
            reservation.count());
  std::optional<Region> region = placement_->place(reservation);
  if (!region && make_room(reservation)) region = placement_->place(reservation);
  if (!region) {
    moves_at_refusal_ = moves_;
    const Tokens wanted = placement_->rounded(reservation);
    if (placement_->free() >= wanted && wanted > largest_free_) set_refused_although_free();
    return Grant::no_space;
  }
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  Held& held = held_[index_of(id)];
  held.true_end = need.true_end;
  held.order = admissions_++;
  held.due = -1;
  held.open = true;
  hold(held, *region, reservation);
  largest_free_ = placement_->largest_free();
  compact_if_torn();
  return Grant::granted;
}

Grant Contiguous::do_grow(SequenceId id, Tokens /*from*/, Tokens to) {
  const Held& held = held_[index_of(id)];
  CHECK_LAW(to <= held.true_end, "sequence {} writes {} tokens, its true end is {}", index_of(id), to.count(),
            held.true_end.count());
  if (to <= held.reservation) return Grant::granted;
  Move wanted{held.order, id, to, {}, {}};
  if (move(wanted)) return Grant::granted;
  const Tokens next = reservation_.next(held.reservation, to);
  return next >= to && make_room(next) && move(wanted) ? Grant::granted : Grant::no_space;
}

// The old region is free once the new one has its content.
bool Contiguous::move(Move& move) {
  Held& held = held_[index_of(move.id)];
  const Tokens next = reservation_.next(held.reservation, move.total);
  if (next < move.total) return false;
  const std::optional<Region> region = placement_->place(next);
  if (!region) return false;
  move.from = held.region;
  move.reservation = held.reservation;
  placement_->remove(held.region);
  let_go(held);
  hold(held, *region, next);
  largest_free_ = placement_->largest_free();
  work().copied += written(move.id);
  ++moves_;
  return true;
}

void Contiguous::undo(const Move& move) {
  Held& held = held_[index_of(move.id)];
  placement_->restore(move.from);
  placement_->remove(held.region);
  let_go(held);
  hold(held, move.from, move.reservation);
  work().copied -= written(move.id);
  --moves_;
}

void Contiguous::collect_moves(std::span<const Growth> others) {
  moving_.clear();
  due_.for_each_due(cohort(), decode_steps(), [&](const DueQueue::Entry& entry) {
    moving_.push_back({entry.order, entry.id, held_[index_of(entry.id)].reservation + Tokens(1), {}, {}});
  });
  for (const Growth& growth : others) {
    const Held& held = held_[index_of(growth.id)];
    if (growth.total > held.reservation) moving_.push_back({held.order, growth.id, growth.total, {}, {}});
  }
  std::ranges::sort(moving_, {}, &Move::order);
}

// In order of admission, like growths one by one; but it never compacts, since that could not be undone.
Grant Contiguous::do_grow_decoding(std::span<const Growth> others) {
  if (!grows()) return Grant::granted;
  collect_moves(others);
  const std::int64_t cursor = placement_->cursor();
  for (std::size_t done = 0; done < moving_.size(); ++done) {
    if (move(moving_[done])) continue;
    while (done > 0) undo(moving_[--done]);
    placement_->set_cursor(cursor);
    largest_free_ = placement_->largest_free();
    return Grant::no_space;
  }
  for (const Move& moved : moving_) {
    Held& held = held_[index_of(moved.id)];
    if (held.due != decode_steps()) continue;  // one of `others`
    due_.remove(cohort(), {held.due, held.order, moved.id});
    held.due += (held.reservation - moved.reservation).count();
    due_.add(cohort(), {held.due, held.order, moved.id});
  }
  return Grant::granted;
}

void Contiguous::do_start_decoding(SequenceId id, Tokens written) {
  if (!grows()) return;
  Held& held = held_[index_of(id)];
  held.due = decode_steps() + (held.reservation - written).count();
  due_.add(cohort(), {held.due, held.order, id});
}

void Contiguous::do_stop_decoding(SequenceId id, Tokens written) {
  Held& held = held_[index_of(id)];
  CHECK_LAW(written <= held.true_end, "sequence {} wrote {} tokens, its true end is {}", index_of(id), written.count(),
            held.true_end.count());
  if (grows()) due_.remove(cohort(), {held.due, held.order, id});
  held.due = -1;
}

void Contiguous::do_release(SequenceId id, Tokens written) {
  Held& held = held_[index_of(id)];
  placement_->remove(held.region);
  let_go(held);
  held.open = false;
  held.highest = std::max(held.highest, written);
  largest_free_ = placement_->largest_free();
  compact_if_torn();
}

void Contiguous::forget(SequenceId id) {
  if (index_of(id) < held_.size()) held_[index_of(id)].highest = Tokens(0);
}

bool Contiguous::make_room(Tokens wanted) { return compaction_.on_failure && compact(wanted); }

void Contiguous::compact_if_torn() {
  if (compaction_.threshold >= 1 || placement_->free() == Tokens(0)) return;
  const double free = static_cast<double>(placement_->free().count());
  if (1 - static_cast<double>(largest_free_.count()) / free > compaction_.threshold) compact(Tokens(0));
}

bool Contiguous::compact(Tokens wanted) {
  by_address_.clear();
  for (std::size_t i = 0; i < held_.size(); ++i) {
    if (held_[i].open) by_address_.emplace_back(held_[i].region, static_cast<SequenceId>(i));
  }
  std::ranges::sort(by_address_, {}, [](const auto& held) { return held.first.start; });
  regions_.clear();
  for (const auto& [region, id] : by_address_) regions_.push_back(region);
  if (!placement_->compact(regions_, wanted)) return false;
  for (std::size_t i = 0; i < regions_.size(); ++i) {
    Held& held = held_[index_of(by_address_[i].second)];
    if (held.region == regions_[i]) continue;
    held.region = regions_[i];
    work().copied += written(by_address_[i].second);
  }
  largest_free_ = placement_->largest_free();
  ++work().compactions;
  ++moves_;
  return true;
}

MemoryPartition Contiguous::partition() const {
  CHECK_LAW(sum_regions_ + placement_->free() == capacity(), "regions {} + free {} != {}", sum_regions_.count(),
            placement_->free().count(), capacity().count());
  MemoryPartition p;
  p[MemoryState::live] = total_written().count();
  p[MemoryState::reserved] = (sum_useful_ - total_written()).count();
  p[MemoryState::over_reserved] = (sum_reservations_ - sum_useful_).count();
  p[MemoryState::padding] = (sum_regions_ - sum_reservations_).count();
  p[refused_although_free() ? MemoryState::external : MemoryState::free] = placement_->free().count();
  return p;
}

}  // namespace blockyard::kv
