#include "sim/cost/host_link.h"

#include <algorithm>

namespace blockyard::cost {

SimTime HostLink::duration(Bytes bytes, std::int64_t pieces) const {
  return to_time(spec_.latency_s + spec_.per_piece_s * static_cast<double>(pieces) +
                 static_cast<double>(bytes.count()) / spec_.bytes_per_s);
}

SimTime HostLink::idle_from(Direction direction, SimTime from) const { return std::max(from, ends_[queue(direction)]); }

SimTime HostLink::begin(Direction direction, SimTime now, Bytes bytes, std::int64_t pieces, SimTime ready) {
  std::erase_if(in_flight_, [now](const Copy& copy) { return copy.end <= now; });
  const SimTime begin = idle_from(direction, std::max(now, ready));
  const SimTime takes = duration(bytes, pieces);
  const SimTime end = begin + takes;
  ends_[queue(direction)] = end;
  total_[static_cast<std::size_t>(direction)] += takes;
  in_flight_.push_back({direction, begin, end});
  return end;
}

SimTime HostLink::busy(Direction direction, SimTime now) const {
  SimTime busy = total_[static_cast<std::size_t>(direction)];
  for (const Copy& copy : in_flight_) {
    if (copy.direction == direction && copy.end > now) busy -= copy.end - std::max(copy.begin, now);
  }
  return busy;
}

}  // namespace blockyard::cost
