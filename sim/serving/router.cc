#include "sim/serving/router.h"

#include <algorithm>
#include <array>
#include <string>

#include "sim/base/check.h"
#include "sim/serving/vllm_router.h"

namespace blockyard::serving {
namespace {

class RoundRobin final : public Router {
 public:
  std::size_t route(std::span<const ReplicaLoad> loads) override { return next_++ % loads.size(); }

 private:
  std::size_t next_ = 0;
};

// Among equals the one after the last chosen comes first, so that idle replicas take turns.
class LeastOutstanding final : public Router {
 public:
  std::size_t route(std::span<const ReplicaLoad> loads) override {
    std::size_t best = last_ % loads.size();
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const std::size_t at = (last_ + i) % loads.size();
      if (loads[at].unfinished() < loads[best].unfinished()) best = at;
    }
    last_ = best + 1;
    return best;
  }

 private:
  std::size_t last_ = 0;
};

template <class Made>
std::unique_ptr<Router> make(std::size_t /*replicas*/) {
  return std::make_unique<Made>();
}

std::unique_ptr<Router> make_vllm(std::size_t replicas) { return std::make_unique<VllmRouter>(replicas); }

constexpr std::array kRouters{
    RouterEntry{"vllm", "smallest 4 x waiting + running, of counts published every 100 ms and what was sent since",
                make_vllm},
    RouterEntry{"round_robin", "each in turn", make<RoundRobin>},
    RouterEntry{"least_outstanding", "fewest unfinished requests, as they are; equals take turns",
                make<LeastOutstanding>},
};

}  // namespace

NameDocs routers() {
  NameDocs docs;
  for (const RouterEntry& router : kRouters) docs.push_back({std::string(router.name), std::string(router.doc)});
  return docs;
}

std::unique_ptr<Router> make_router(std::string_view name, std::size_t replicas) {
  const auto* const found = std::ranges::find(kRouters, name, &RouterEntry::name);
  CHECK_LAW(found != kRouters.end(), "no router {}", name);
  return found->make(replicas);
}

}  // namespace blockyard::serving
