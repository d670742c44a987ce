// The names of preemption modes, in one place.
#include <array>

#include "sim/base/check.h"
#include "sim/sched/preemption/cheapest.h"
#include "sim/sched/preemption/mode.h"
#include "sim/sched/preemption/recompute.h"
#include "sim/sched/preemption/swap.h"

namespace blockyard::sched {
namespace {

template <class Mode>
std::unique_ptr<PreemptionMode> make() {
  return std::make_unique<Mode>();
}

struct ModeRow {
  const char* name;
  const char* doc;
  bool swaps;
  std::unique_ptr<PreemptionMode> (*make)();
};

constexpr std::array kModes{
    ModeRow{"recompute", "its KV is dropped and computed again", false, make<RecomputeMode>},
    ModeRow{"swap", "its KV goes to the host and comes back; recompute where the host is full", true, make<SwapMode>},
    ModeRow{"cheapest", "for each victim whichever brings it back sooner", true, make<CheapestMode>},
};

const ModeRow& row_of(std::string_view name) {
  for (const ModeRow& row : kModes) {
    if (row.name == name) return row;
  }
  check_failed(__FILE__, __LINE__, "a name of the table", name);
}

}  // namespace

NameDocs preemption_modes() {
  NameDocs docs;
  for (const ModeRow& row : kModes) docs.push_back({row.name, row.doc});
  return docs;
}

bool mode_swaps(std::string_view name) { return row_of(name).swaps; }
std::unique_ptr<PreemptionMode> make_preemption_mode(std::string_view name) { return row_of(name).make(); }

}  // namespace blockyard::sched
