// The names of victims, in one place.
#include <array>

#include "sim/base/check.h"
#include "sim/sched/preemption/cheapest_to_restore.h"
#include "sim/sched/preemption/largest.h"
#include "sim/sched/preemption/latest.h"
#include "sim/sched/preemption/least_computed.h"
#include "sim/sched/preemption/lowest_priority.h"
#include "sim/sched/preemption/most_remaining.h"
#include "sim/sched/preemption/smallest.h"
#include "sim/sched/preemption/victim.h"

namespace blockyard::sched {
namespace {

template <class Policy>
std::unique_ptr<VictimPolicy> make() {
  return std::make_unique<Policy>();
}

struct VictimRow {
  const char* name;
  const char* doc;
  std::unique_ptr<VictimPolicy> (*make)();
};

constexpr std::array kVictims{
    VictimRow{"engine", "the scheduler's own rule: the last of the running list, or the least urgent",
              []() -> std::unique_ptr<VictimPolicy> { return nullptr; }},
    VictimRow{"latest", "the last to arrive", make<Latest>},
    VictimRow{"lowest_priority", "the least urgent, then the last to arrive", make<LowestPriority>},
    VictimRow{"largest", "who holds most memory", make<Largest>},
    VictimRow{"smallest", "who holds least memory", make<Smallest>},
    VictimRow{"least_computed", "who has computed fewest tokens", make<LeastComputed>},
    VictimRow{"most_remaining", "who has most output still to come (an oracle)", make<MostRemaining>},
    VictimRow{"cheapest_to_restore", "who would be back soonest, by the cost model and the host link",
              make<CheapestToRestore>},
};

}  // namespace

NameDocs victims() {
  NameDocs docs;
  for (const VictimRow& row : kVictims) docs.push_back({row.name, row.doc});
  return docs;
}

std::unique_ptr<VictimPolicy> make_victim_policy(std::string_view name) {
  for (const VictimRow& row : kVictims) {
    if (row.name == name) return row.make();
  }
  check_failed(__FILE__, __LINE__, "a name of the table", name);
}

}  // namespace blockyard::sched
