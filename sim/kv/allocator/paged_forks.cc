#include "sim/kv/allocator/paged_forks.h"

#include <algorithm>

#include "sim/base/random.h"

namespace blockyard::kv {
namespace {

// One stream a request and length: a request's beams are the same whatever runs beside it.
RandomStream choices_of(std::uint64_t seed, RequestId request, Tokens written) {
  const std::uint64_t which =
      (static_cast<std::uint64_t>(index_of(request)) << 32) + static_cast<std::uint64_t>(written.count());
  return {seed ^ (which * 0x9e3779b97f4a7c15ULL), "beams"};
}

}  // namespace

PagedForks::PagedForks(Blocks blocks, Tokens block_size, std::optional<BeamModel> beams)
    : Allocator(block_size * blocks.count()),
      block_size_(block_size),
      beams_(beams),
      total_(blocks),
      free_(blocks),
      buckets_(static_cast<std::size_t>(block_size.count())) {}

Blocks PagedForks::blocks_at(Tokens prompt, std::int64_t width, Tokens written) const {
  const Blocks length = blocks_for(written, block_size_);
  if (written <= prompt) return length;
  const Blocks shared(prompt.count() / block_size_.count());
  return shared + (length - shared) * width;
}

std::int64_t PagedForks::live_at(const Held& h, Tokens written) const {
  if (written <= h.prompt) return written.count();
  const std::int64_t shared = h.prompt.count() - filled(h.prompt);
  return shared + h.width * (written.count() - shared);
}

std::string PagedForks::why_never(const SequenceNeed& need) const {
  const Blocks blocks = blocks_at(need.prompt, need.width, need.true_end);
  if (blocks <= total_) return "";
  return fmt::format("needs {} blocks of {} tokens, the pool has {}", blocks.count(), block_size_.count(),
                     total_.count());
}

std::int64_t PagedForks::admission_demand(SequenceId /*id*/, const SequenceNeed& need, Tokens first) const {
  return blocks_at(need.prompt, need.width, first).count();
}

Blocks PagedForks::needed(const Held& h, Tokens from, Tokens to) const {
  if (!h.beams || from <= h.prompt) return blocks_at(h.prompt, h.width, to) - blocks_at(h.prompt, h.width, from);
  if (to == from) return Blocks(0);
  return (blocks_for(to, block_size_) - blocks_for(from, block_size_)) * h.width + Blocks(copies_due(h, from));
}

std::int64_t PagedForks::demand(SequenceId id, Tokens total) const {
  return needed(held(id), written(id), total).count();
}

std::int64_t PagedForks::copies_due(const Held& h, Tokens written) const {
  if (filled(written) == 0 || written < h.prompt) return 0;
  if (written == h.prompt) return h.width - 1;
  return h.beams ? h.tree.missing_copies() : 0;
}

void PagedForks::count_due(const Held& h, Tokens written, std::int64_t sign) {
  const std::int64_t copies = sign * copies_due(h, written);
  copies_due_ += copies;
  copied_slots_due_ += copies * filled(written);
}

void PagedForks::write(Held& h, Tokens from, Tokens to) {
  if (to <= h.prompt || to == from) return;
  if (from <= h.prompt) {
    from = h.prompt;
    h.tree.start(h.width, filled(from) > 0);
  }
  if (filled(from) > 0) h.tree.write_on();
  for (Blocks n = blocks_for(to, block_size_) - blocks_for(from, block_size_); n > Blocks(0); --n) h.tree.begin_block();
}

Grant PagedForks::do_admit(SequenceId id, const SequenceNeed& need, Tokens first) {
  const Blocks n = blocks_at(need.prompt, need.width, first);
  if (!room_for(n)) return Grant::no_space;
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  Held& h = held_[index_of(id)];
  h.prompt = need.prompt;
  h.width = need.width;
  h.request = need.request;
  h.beams = beams_.has_value() && need.width > 1;
  h.decoding = false;
  h.chosen = std::max(h.chosen, need.prompt);
  if (h.beams) {
    write(h, Tokens(0), first);
    beam_requests_.push_back(id);
  }
  free_ -= n;
  unshared_ += blocks_for(first, block_size_) * h.width;
  live_ += live_at(h, first);
  return Grant::granted;
}

Grant PagedForks::do_grow(SequenceId id, Tokens from, Tokens to) {
  Held& h = held_[index_of(id)];
  const Blocks n = needed(h, from, to);
  if (!room_for(n)) return Grant::no_space;
  free_ -= n;
  unshared_ += (blocks_for(to, block_size_) - blocks_for(from, block_size_)) * h.width;
  if (h.beams && from > h.prompt && to > from) {
    live_ += h.width * (to - from).count() + copies_due(h, from) * filled(from);
  } else {
    live_ += live_at(h, to) - live_at(h, from);
  }
  if (h.beams) write(h, from, to);
  return Grant::granted;
}

void PagedForks::do_release(SequenceId id, Tokens written) {
  Held& h = held_[index_of(id)];
  Blocks n = blocks_at(h.prompt, h.width, written);
  std::int64_t live = live_at(h, written);
  if (h.beams) {
    std::erase(beam_requests_, id);
    if (written > h.prompt) {
      // The last block of every beam is filled so far; all others are full.
      const Blocks shared(h.prompt.count() / block_size_.count());
      const std::int64_t last = h.width - h.tree.missing_copies();
      n = shared + Blocks(h.tree.blocks());
      live = block_size_.count() * (n.count() - last) +
             last * (filled(written) == 0 ? block_size_.count() : filled(written));
    }
  }
  free_ += n;
  CHECK_LAW(free_ <= total_, "releases {} blocks, then {} of {} are free", n.count(), free_.count(), total_.count());
  unshared_ -= blocks_for(written, block_size_) * h.width;
  live_ -= live;
}

void PagedForks::do_start_decoding(SequenceId id, Tokens written) {
  Held& h = held_[index_of(id)];
  CHECK_LAW(written >= h.prompt, "sequence {} decodes with {} of {} tokens of its prompt", index_of(id),
            written.count(), h.prompt.count());
  h.decoding = true;
  buckets_[bucket(written)] += h.width;
  writing_ += h.width;
  count_due(h, written, 1);
}

void PagedForks::do_stop_decoding(SequenceId id, Tokens written) {
  Held& h = held_[index_of(id)];
  h.decoding = false;
  buckets_[bucket(written)] -= h.width;
  writing_ -= h.width;
  count_due(h, written, -1);
}

Grant PagedForks::do_grow_decoding(std::span<const Growth> others) {
  Blocks n(decode_demand());
  for (const Growth& growth : others) n += Blocks(demand(growth.id, growth.total));
  if (!room_for(n)) return Grant::no_space;
  unshared_ += Blocks(buckets_[cursor_]);
  free_ -= Blocks(decode_demand());
  live_ += writing_ + copied_slots_due_;
  copies_due_ = 0;
  copied_slots_due_ = 0;
  for (const SequenceId id : beam_requests_) {
    Held& h = held_[index_of(id)];
    if (!h.decoding) continue;
    const Tokens from = written(id);
    write(h, from, from + Tokens(1));
  }
  cursor_ = cursor_ == 0 ? buckets_.size() - 1 : cursor_ - 1;
  for (const Growth& growth : others) {
    const Grant grant = do_grow(growth.id, written(growth.id), growth.total);
    CHECK_LAW(grant == Grant::granted, "sequence {}: a demand that fitted was refused", index_of(growth.id));
  }
  return Grant::granted;
}

Blocks PagedForks::choose_parents() {
  Blocks freed(0);
  for (const SequenceId id : beam_requests_) {
    Held& h = held_[index_of(id)];
    const Tokens now = written(id);
    if (now <= h.chosen) continue;
    h.chosen = now;
    RandomStream stream = choices_of(beams_->seed, h.request, now);
    parents_.resize(static_cast<std::size_t>(h.width));
    for (std::int64_t beam = 0; beam < h.width; ++beam) {
      const bool any = stream.uniform() < beams_->switch_share;
      parents_[static_cast<std::size_t>(beam)] = static_cast<std::int32_t>(any ? stream.integer(0, h.width - 1) : beam);
    }
    if (h.decoding) count_due(h, now, -1);
    h.tree.choose(parents_);
    if (h.decoding) count_due(h, now, 1);
    freed += Blocks(h.tree.freed_full() + h.tree.freed_last());
    const std::int64_t in_last = filled(now) == 0 ? block_size_.count() : filled(now);
    live_ -= h.tree.freed_full() * block_size_.count() + h.tree.freed_last() * in_last;
  }
  free_ += freed;
  return freed;
}

MemoryPartition PagedForks::partition() const {
  const std::int64_t held = (total_ - free_).count() * block_size_.count();
  CHECK_LAW(live_ >= 0 && live_ <= held, "{} slots live of {} held", live_, held);
  MemoryPartition p;
  p[MemoryState::live] = live_;
  p[MemoryState::tail] = held - live_;
  p[MemoryState::free] = free_.count() * block_size_.count();
  return p;
}

}  // namespace blockyard::kv
