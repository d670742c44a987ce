#include "sim/sched/preemption/host_swap.h"

#include <algorithm>

namespace blockyard::sched {

Copy HostSwap::copy_of(Tokens from, Tokens to) const {
  const Blocks blocks = blocks_for(to, options_.block_size) - blocks_for(from, options_.block_size);
  return {blocks, options_.one_piece ? 1 : blocks.count()};
}

Way HostSwap::way(SimTime now, Tokens from, Tokens to, const DecodeLoad& load) const {
  const Copy copy = copy_of(from, to);
  if (copy.blocks > pool_.free()) return Way::recompute;
  RestoreTimes times;
  if (mode_->asks_for_times()) times = {cost_->recompute(to - from, load), cost_->swap(now, copy)};
  return mode_->choose(times);
}

SimTime HostSwap::restore_time(SimTime now, Tokens tokens, const DecodeLoad& load) const {
  return way(now, Tokens(0), tokens, load) == Way::swap ? cost_->swap(now, copy_of(Tokens(0), tokens))
                                                        : cost_->recompute(tokens, load);
}

void HostSwap::begun(Sequence& s, SimTime end) {
  last_end_ = std::max(last_end_, end);
  if (options_.overlap) s.ready = end;
}

Blocks HostSwap::save(Sequence& s, Tokens from, Tokens to, SimTime now) {
  const Copy copy = copy_of(from, to);
  CHECK_LAW(s.saved == Tokens(0) || to == s.kept, "tokens up to {} go to the host, the GPU holds {}", to.count(),
            s.kept.count());
  pool_.take(copy.blocks);
  if (s.saved == Tokens(0)) ++sequences_;
  s.saved = std::max(s.saved, to);
  s.host_blocks += copy.blocks;
  begun(s, link_->begin_out(now, copy));
  return copy.blocks;
}

Blocks HostSwap::fetch(Sequence& s, Tokens from, SimTime now) {
  const Blocks blocks = s.host_blocks;
  const Copy copy = copy_of(from, s.saved);
  begun(s, link_->begin_in(now, copy));
  s.host_blocks = Blocks(0);
  s.saved = Tokens(0);
  --sequences_;
  if (options_.overlap) {
    returning_.push_back({s.ready, blocks});
  } else {
    pool_.give_back(blocks);
  }
  return copy.blocks;
}

void HostSwap::drop(Sequence& s) {
  if (s.saved == Tokens(0)) return;
  pool_.give_back(s.host_blocks);
  s.host_blocks = Blocks(0);
  s.saved = Tokens(0);
  --sequences_;
}

void HostSwap::settle(SimTime now) {
  std::erase_if(returning_, [&](const Return& back) {
    if (back.end > now) return false;
    pool_.give_back(back.blocks);
    return true;
  });
}

SimTime HostSwap::next_return() const {
  SimTime next = kNever;
  for (const Return& back : returning_) next = std::min(next, back.end);
  return next;
}

}  // namespace blockyard::sched
