// The way of KV to the host and back, in the scheduler's words: blocks over the links of all GPUs of a replica at once,
// each moving its share; the tiers of a prefix cache go over the same ones (serving/tier_paths.h). A block is
// `copies_per_block` copies: the keys and the values of each layer lie apart.
#pragma once

#include "sim/cost/host_link.h"
#include "sim/sched/preemption/kv_link.h"

namespace blockyard::serving {

class SwapPath final : public sched::KvLink {
 public:
  // `block_bytes`: of one block on one GPU. The link outlives it.
  SwapPath(cost::HostLink& link, Bytes block_bytes, std::int64_t copies_per_block)
      : link_(&link), block_bytes_(block_bytes), copies_per_block_(copies_per_block) {}

  SimTime begin_out(SimTime now, const sched::Copy& copy) override {
    return link_->begin(cost::Direction::out, now, bytes(copy), pieces(copy));
  }
  SimTime begin_in(SimTime now, const sched::Copy& copy) override {
    return link_->begin(cost::Direction::in, now, bytes(copy), pieces(copy));
  }
  // Until a copy out that is ready at `now` would be back again.
  [[nodiscard]] SimTime there_and_back(SimTime now, const sched::Copy& copy) const {
    const SimTime each_way = link_->duration(bytes(copy), pieces(copy));
    const SimTime out = link_->idle_from(cost::Direction::out, now) + each_way;
    return link_->idle_from(cost::Direction::in, out) + each_way - now;
  }

 private:
  [[nodiscard]] Bytes bytes(const sched::Copy& copy) const { return block_bytes_ * copy.blocks.count(); }
  [[nodiscard]] std::int64_t pieces(const sched::Copy& copy) const { return copies_per_block_ * copy.pieces; }

  cost::HostLink* link_;
  Bytes block_bytes_;
  std::int64_t copies_per_block_;
};

}  // namespace blockyard::serving
