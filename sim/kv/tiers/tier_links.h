// The ways between the GPUs, host memory and the stores behind it, as the tiers below the GPU see them: they begin
// copies and are told when these will have ended. Serving knows the links (sim/serving/tier_paths.h). Whatever goes to
// or comes from a store passes through host memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/base/quantities.h"

namespace blockyard::kv {

enum class Tier : std::size_t { host, nvme, remote };
inline constexpr std::size_t kTiers = 3;
inline constexpr std::array<const char*, kTiers> kTierNames{"host", "nvme", "remote"};

// Blocks to be read, by tier.
using TierBlocks = std::array<std::int64_t, kTiers>;

class TierLinks {
 public:
  TierLinks() = default;
  TierLinks(const TierLinks&) = delete;
  TierLinks& operator=(const TierLinks&) = delete;
  virtual ~TierLinks() = default;

  // A copy that may begin at `ready` >= now, behind those begun before it over the same link; returns its end.
  virtual SimTime gpu_to_host(SimTime now, SimTime ready, std::int64_t blocks) = 0;
  virtual SimTime host_to_gpu(SimTime now, SimTime ready, std::int64_t blocks) = 0;
  virtual SimTime store(Tier tier, SimTime now, SimTime ready, std::int64_t blocks) = 0;  // from host memory
  virtual SimTime load(Tier tier, SimTime now, SimTime ready, std::int64_t blocks) = 0;   // to host memory

  // How long it would take from `now` until all blocks were on the GPU; and to compute tokens [from, to) instead.
  [[nodiscard]] virtual SimTime would_fetch(SimTime now, const TierBlocks& blocks) const = 0;
  // The latter asks the cost model once for each chunk of a full step.
  [[nodiscard]] virtual SimTime would_compute(Tokens from, Tokens to) = 0;
};

}  // namespace blockyard::kv
