#include "sim/serving/tier_paths.h"

#include <algorithm>

namespace blockyard::serving {

using cost::Direction;

TierPaths::TierPaths(const TierPathsOptions& options, cost::HostLink& host, cost::CostModel& cost)
    : options_(options), cost_(&cost), host_(&host) {
  for (std::size_t i = 0; i < kv::kTiers; ++i) {
    if (options.stores[i]) stores_[i].emplace(*options.stores[i]);
  }
}

SimTime TierPaths::gpu_to_host(SimTime now, SimTime ready, std::int64_t blocks) {
  return host_->begin(Direction::out, now, on_host_link(blocks), pieces(blocks), ready);
}
SimTime TierPaths::host_to_gpu(SimTime now, SimTime ready, std::int64_t blocks) {
  return host_->begin(Direction::in, now, on_host_link(blocks), pieces(blocks), ready);
}
SimTime TierPaths::store(kv::Tier tier, SimTime now, SimTime ready, std::int64_t blocks) {
  return link_of(tier).begin(Direction::out, now, on_store_link(blocks), blocks, ready);
}
SimTime TierPaths::load(kv::Tier tier, SimTime now, SimTime ready, std::int64_t blocks) {
  return link_of(tier).begin(Direction::in, now, on_store_link(blocks), blocks, ready);
}

SimTime TierPaths::would_fetch(SimTime now, const kv::TierBlocks& blocks) const {
  SimTime idle = host_->idle_from(Direction::in, now);
  for (std::size_t i = 0; i < kv::kTiers; ++i) {
    if (blocks[i] == 0) continue;
    SimTime in_host = now;
    if (stores_[i]) {
      in_host = stores_[i]->idle_from(Direction::in, now) + stores_[i]->duration(on_store_link(blocks[i]), blocks[i]);
    }
    idle = std::max(idle, in_host) + host_->duration(on_host_link(blocks[i]), pieces(blocks[i]));
  }
  return idle - now;
}

SimTime TierPaths::would_compute(Tokens from, Tokens to) {
  SimTime time;
  for (Tokens done = from; done < to;) {
    const Tokens chunk = std::min(options_.longest_chunk, to - done);
    cost::StepWork work;
    cost_->add_chunk(work, chunk, done);
    time += cost_->step(work);
    done += chunk;
  }
  return time;
}

}  // namespace blockyard::serving
