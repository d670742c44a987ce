// Copies over a link: when each ends, and how busy the link has been. Copies in flight share the link: it serves those
// of a direction in the order in which they began, as the copy stream of a GPU does, so that together they never exceed
// its bandwidth; where directions share the link, those of both. Each takes
//
//   latency + pieces x per_piece + bytes / bandwidth
//
// Law: busy time of a direction <= time passed. Cost: O(1) a copy. Left out: what copies take from the bandwidth of the
// GPU's own memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "sim/base/busy_time.h"
#include "sim/base/quantities.h"
#include "sim/model/link.h"

namespace blockyard::cost {

enum class Direction : std::size_t { out, in };  // seen from the GPU

class HostLink {
 public:
  // Hears of each copy as it is told to begin, which may be later.
  using Listener = std::function<void(Direction direction, SimTime begin, SimTime end)>;

  explicit HostLink(const model::LinkSpec& spec) : spec_(spec) {}

  void listen(Listener listener) { listener_ = std::move(listener); }
  [[nodiscard]] SimTime duration(Bytes bytes, std::int64_t pieces) const;
  // A copy that may begin at `now`, or at `ready` after it; returns its end. Calls come in order of time.
  SimTime begin(Direction direction, SimTime now, Bytes bytes, std::int64_t pieces, SimTime ready = SimTime(0));
  // When a copy that is ready at `from` would begin, given those begun so far.
  [[nodiscard]] SimTime idle_from(Direction direction, SimTime from) const;
  // Time until `now`, not before the last begin(), in which it copied that way.
  [[nodiscard]] SimTime busy(Direction direction, SimTime now) const {
    return busy_[static_cast<std::size_t>(direction)].until(now);
  }

 private:
  [[nodiscard]] std::size_t queue(Direction direction) const {
    return spec_.shared ? 0 : static_cast<std::size_t>(direction);
  }

  model::LinkSpec spec_;
  std::array<SimTime, 2> ends_{};   // of each queue: when the last copy will have ended
  std::array<BusyTime, 2> busy_{};  // of each direction
  Listener listener_;
};

}  // namespace blockyard::cost
