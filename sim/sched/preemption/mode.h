// How a victim keeps or regains its KV: the contract of every mode. `recompute` drops it; `swap` copies it to the host
// and back; `cheapest` weighs the two for each victim. A full host pool always means recompute.
#pragma once

#include <memory>
#include <string_view>

#include "sim/base/named.h"
#include "sim/base/quantities.h"

namespace blockyard::sched {

enum class Way { recompute, swap };

// How long a victim would take to have its computed length back, once it may run again: computing it beside those that
// decode now, or both copies behind those under way.
struct RestoreTimes {
  SimTime recompute;
  SimTime swap;
};

class PreemptionMode {
 public:
  PreemptionMode() = default;
  PreemptionMode(const PreemptionMode&) = delete;
  PreemptionMode& operator=(const PreemptionMode&) = delete;
  virtual ~PreemptionMode() = default;

  // Given room on the host. `times` are zeros unless asked for.
  [[nodiscard]] virtual Way choose(const RestoreTimes& times) const = 0;
  [[nodiscard]] virtual bool asks_for_times() const { return false; }
};

// The names that a scenario may use.
[[nodiscard]] NameDocs preemption_modes();
[[nodiscard]] bool mode_swaps(std::string_view name);  // it needs a host pool
[[nodiscard]] std::unique_ptr<PreemptionMode> make_preemption_mode(std::string_view name);

}  // namespace blockyard::sched
