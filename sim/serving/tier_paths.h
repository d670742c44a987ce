// The ways to the tiers below the GPU: the host links of all GPUs of a replica at once, each moving its share of a
// block, and behind them one link a store. Copies over the host links and swaps are of one kind, and wait for each
// other (serving/swap_path.h): a block is `copies_per_block` pieces; over a store's link a block is one. What would be
// computed instead is taken by the cost model, in full chunks by themselves.
#pragma once

#include <array>
#include <optional>

#include "sim/cost/cost_model.h"
#include "sim/cost/host_link.h"
#include "sim/kv/tiers/tier_links.h"

namespace blockyard::serving {

struct TierPathsOptions {
  std::array<std::optional<model::LinkSpec>, kv::kTiers> stores;  // by tier; the host has none
  Bytes block_bytes;                                              // of one GPU
  std::int64_t gpus = 1;
  std::int64_t copies_per_block = 1;
  Tokens longest_chunk;
};

class TierPaths final : public kv::TierLinks {
 public:
  // Both outlive it.
  TierPaths(const TierPathsOptions& options, cost::HostLink& host, cost::CostModel& cost);

  SimTime gpu_to_host(SimTime now, SimTime ready, std::int64_t blocks) override;
  SimTime host_to_gpu(SimTime now, SimTime ready, std::int64_t blocks) override;
  SimTime store(kv::Tier tier, SimTime now, SimTime ready, std::int64_t blocks) override;
  SimTime load(kv::Tier tier, SimTime now, SimTime ready, std::int64_t blocks) override;
  [[nodiscard]] SimTime would_fetch(SimTime now, const kv::TierBlocks& blocks) const override;
  [[nodiscard]] SimTime would_compute(Tokens from, Tokens to) override;

  [[nodiscard]] const cost::HostLink& host() const { return *host_; }
  // nullptr without one.
  [[nodiscard]] const cost::HostLink* store_link(kv::Tier tier) const {
    const auto& link = stores_[static_cast<std::size_t>(tier)];
    return link ? &*link : nullptr;
  }

 private:
  [[nodiscard]] cost::HostLink& link_of(kv::Tier tier) { return *stores_[static_cast<std::size_t>(tier)]; }
  [[nodiscard]] Bytes on_host_link(std::int64_t blocks) const { return options_.block_bytes * blocks; }
  [[nodiscard]] Bytes on_store_link(std::int64_t blocks) const {
    return options_.block_bytes * (options_.gpus * blocks);
  }
  [[nodiscard]] std::int64_t pieces(std::int64_t blocks) const { return options_.copies_per_block * blocks; }

  TierPathsOptions options_;
  cost::CostModel* cost_;
  cost::HostLink* host_;
  std::array<std::optional<cost::HostLink>, kv::kTiers> stores_;
};

}  // namespace blockyard::serving
