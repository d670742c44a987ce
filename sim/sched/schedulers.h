// The table of schedulers: the names a scenario may use, in one place.
#pragma once

#include <memory>
#include <string_view>

#include "sim/base/named.h"
#include "sim/sched/running_first.h"
#include "sim/sched/scheduler.h"

namespace blockyard::sched {

[[nodiscard]] NameDocs schedulers();

// `scheduler` is a name of schedulers(). Each takes from the options what it knows and fixes the rest.
[[nodiscard]] std::unique_ptr<Scheduler> make_scheduler(std::string_view scheduler, const RunningFirstOptions& options,
                                                        kv::Allocator& memory);

}  // namespace blockyard::sched
