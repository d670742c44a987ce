#include "sim/sched/waiting_queue.h"

#include <array>

#include "sim/base/check.h"
#include "sim/sched/queue_order/fcfs.h"
#include "sim/sched/queue_order/priority.h"

namespace blockyard::sched {
namespace {

struct OrderRow {
  const char* name;
  const char* doc;
  bool overtakes;
  std::unique_ptr<WaitingQueue> (*make)();
};

constexpr std::array kOrders{
    OrderRow{"fcfs", "first come, first served; preempted requests return to the front", false,
             []() -> std::unique_ptr<WaitingQueue> { return std::make_unique<Fcfs>(); }},
    OrderRow{"priority", "by priority (smaller first), then arrival time, then arrival order", true,
             []() -> std::unique_ptr<WaitingQueue> { return std::make_unique<Priority>(); }},
};

}  // namespace

NameDocs queue_orders() {
  NameDocs docs;
  for (const OrderRow& row : kOrders) docs.push_back({row.name, row.doc});
  return docs;
}

bool arrivals_overtake(std::string_view order) {
  for (const OrderRow& row : kOrders) {
    if (row.name == order) return row.overtakes;
  }
  check_failed(__FILE__, __LINE__, "a name of the table", order);
}

std::unique_ptr<WaitingQueue> make_waiting_queue(std::string_view order) {
  for (const OrderRow& row : kOrders) {
    if (row.name == order) return row.make();
  }
  check_failed(__FILE__, __LINE__, "a name of the table", order);
}

}  // namespace blockyard::sched
