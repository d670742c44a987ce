#include "sim/cost/host_link.h"

#include <algorithm>

namespace blockyard::cost {

SimTime HostLink::duration(Bytes bytes, std::int64_t pieces) const {
  return to_time(spec_.latency_s + spec_.per_piece_s * static_cast<double>(pieces) +
                 static_cast<double>(bytes.count()) / spec_.bytes_per_s);
}

SimTime HostLink::idle_from(Direction direction, SimTime from) const { return std::max(from, ends_[queue(direction)]); }

SimTime HostLink::begin(Direction direction, SimTime now, Bytes bytes, std::int64_t pieces, SimTime ready) {
  const SimTime begin = idle_from(direction, std::max(now, ready));
  const SimTime end = begin + duration(bytes, pieces);
  ends_[queue(direction)] = end;
  busy_[static_cast<std::size_t>(direction)].add(now, begin, end);
  if (listener_) listener_(direction, begin, end);
  return end;
}

}  // namespace blockyard::cost
