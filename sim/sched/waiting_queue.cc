#include "sim/sched/waiting_queue.h"

#include <array>
#include <type_traits>

#include "sim/base/check.h"
#include "sim/sched/queue_order/edf.h"
#include "sim/sched/queue_order/fair.h"
#include "sim/sched/queue_order/fcfs.h"
#include "sim/sched/queue_order/longest_prefix.h"
#include "sim/sched/queue_order/priority.h"
#include "sim/sched/queue_order/sjf.h"
#include "sim/sched/queue_order/srpt.h"

namespace blockyard::sched {
namespace {

struct OrderRow {
  const char* name;
  const char* doc;
  bool overtakes;  // an arrival may be put before all who wait
  std::unique_ptr<WaitingQueue> (*make)(const QueueOptions& options);
};

template <class Order>
std::unique_ptr<WaitingQueue> make(const QueueOptions& options) {
  if constexpr (std::is_default_constructible_v<Order>) {
    return std::make_unique<Order>();
  } else {
    return std::make_unique<Order>(options);
  }
}

constexpr std::array kOrders{
    OrderRow{"fcfs", "first come, first served; preempted requests return to the front", false, make<Fcfs>},
    OrderRow{"priority", "by priority (smaller first), then arrival time, then arrival order", true, make<Priority>},
    OrderRow{"sjf", "shortest predicted output first; long requests may starve", true, make<Sjf>},
    OrderRow{"srpt", "shortest predicted rest of the output first; long requests may starve", true, make<Srpt>},
    OrderRow{"edf",
             "earliest deadline first: arrival + slo.ttft, or that of its class, + priority x deadline_per_priority",
             true, make<Edf>},
    OrderRow{"longest_prefix", "longest cached prefix first, as SGLang's lpm; requests that share nothing may starve",
             true, make<LongestPrefix>},
    OrderRow{"fair", "the tenant that got the fewest tokens first (VTC, Sheng et al., OSDI 2024)", true, make<Fair>},
};

const OrderRow& row_of(std::string_view order) {
  for (const OrderRow& row : kOrders) {
    if (row.name == order) return row;
  }
  check_failed(__FILE__, __LINE__, "a name of the table", order);
}

}  // namespace

NameDocs queue_orders() {
  NameDocs docs;
  for (const OrderRow& row : kOrders) docs.push_back({row.name, row.doc});
  return docs;
}

bool arrivals_overtake(std::string_view order) { return row_of(order).overtakes; }

std::unique_ptr<WaitingQueue> make_waiting_queue(std::string_view order, const QueueOptions& options) {
  return row_of(order).make(options);
}

}  // namespace blockyard::sched
