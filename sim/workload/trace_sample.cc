#include "sim/workload/trace_sample.h"

#include <algorithm>

#include "sim/workload/prefix_statistics.h"

namespace blockyard::workload {
namespace {

constexpr std::int64_t kOneIn = 200;

std::uint64_t mixed(std::uint64_t x) {  // the finaliser of SplitMix64 (Steele et al., OOPSLA 2014)
  x = (x ^ (x >> 30)) * std::uint64_t{0xbf58476d1ce4e5b9};
  x = (x ^ (x >> 27)) * std::uint64_t{0x94d049bb133111eb};
  return x ^ (x >> 31);
}

}  // namespace

void TraceSample::count(std::span<const Request> requests, const ContentStore& contents) {
  for (const Request& request : requests) {
    ++counted_;
    if (request.session != 0) continue;
    if (request.content != ContentId::none) {
      ids_.clear();
      append_ids(contents.at(request.content), block_, ids_);
      for (const std::int64_t id : ids_) ++with_id_[id];
    } else if (request.prefix_tokens > 0) {
      ++with_prefix_[request.prefix];
    }
  }
}

bool TraceSample::binds(std::int64_t requests) const {
  return requests <= std::max<std::int64_t>(counted_ / kOneIn, 1);
}

bool TraceSample::is_drawn(Kind kind, std::uint64_t name) const {
  constexpr double kUnit = 0x1p-53;
  const std::uint64_t hash = mixed(mixed(seed_ + static_cast<std::uint64_t>(kind)) ^ mixed(name + 1));
  return static_cast<double>(hash >> 11) * kUnit < fraction_;
}

bool TraceSample::keeps(const Request& request, const ContentStore& contents) {
  const std::uint64_t row = static_cast<std::uint64_t>(asked_++);
  if (request.session != 0) return is_drawn(Kind::session, request.session);
  if (request.content != ContentId::none) {
    ids_.clear();
    append_ids(contents.at(request.content), block_, ids_);
    const auto own = std::ranges::find_if(ids_, [&](std::int64_t id) { return binds(with_id_.at(id)); });
    if (own != ids_.end()) return is_drawn(Kind::id, static_cast<std::uint64_t>(*own));
  } else if (request.prefix_tokens > 0 && binds(with_prefix_.at(request.prefix))) {
    return is_drawn(Kind::prefix, request.prefix);
  }
  return is_drawn(Kind::alone, row);
}

}  // namespace blockyard::workload
