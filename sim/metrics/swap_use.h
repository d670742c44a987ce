// What swaps came to: KV moved between GPUs and host, the host pool, and the link.
//   by_cause          who was moved: sim/base/swap_cause.h. Both ways add up to swap.out and swap.in
//   host live, free   of the pool's capacity, weighted by time over the makespan; a block is live from the start of its
//                     copy out to the end of its copy back. live + free == 1
//   busy share        time in which the link copied that way, over the makespan; peak: over the interval of which the
//                     time series has a row, or the part of it in the makespan, in which it is the largest
//   engine_waited     steps held up by copies, and steps in which the engine had nothing to do but to wait for one
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "sim/base/quantities.h"
#include "sim/base/swap_cause.h"

namespace blockyard::metrics {

struct SwapTraffic {
  Blocks out_blocks;
  Bytes out_bytes;
  Blocks in_blocks;
  Bytes in_bytes;

  SwapTraffic& operator+=(const SwapTraffic& other) {
    out_blocks += other.out_blocks;
    out_bytes += other.out_bytes;
    in_blocks += other.in_blocks;
    in_bytes += other.in_bytes;
    return *this;
  }
  SwapTraffic& operator-=(const SwapTraffic& other) {
    out_blocks -= other.out_blocks;
    out_bytes -= other.out_bytes;
    in_blocks -= other.in_blocks;
    in_bytes -= other.in_bytes;
    return *this;
  }
  bool operator==(const SwapTraffic&) const = default;
};

struct SwapUse {
  std::array<SwapTraffic, kSwapCauses> by_cause{};
  Bytes host_capacity;  // 0: nothing can be swapped
  double host_live_mean_share = 0;
  double host_live_peak_share = 0;
  struct Busy {
    double mean_share = 0;
    double peak_share = 0;
  };
  std::optional<Busy> out_busy;  // none where nothing can be swapped, or if no time passed
  std::optional<Busy> in_busy;
  Seconds peak_interval_s = 0;
  Seconds engine_waited_s = 0;

  [[nodiscard]] SwapTraffic total() const {
    SwapTraffic sum;
    for (const SwapTraffic& traffic : by_cause) sum += traffic;
    return sum;
  }
};

}  // namespace blockyard::metrics
