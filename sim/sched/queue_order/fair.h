// Fair among tenants: the virtual token counter (Sheng et al., OSDI 2024). Each tenant has a counter of the service it
// got, prompt tokens + 2 x output tokens; the tenant with the smallest goes first, in order of arrival within it. A
// tenant that comes back after a time without waiting requests is lifted to the smallest counter of those that wait (or
// to that of the last one that left), so that idleness saves up nothing. A request is charged when it is admitted, with
// its predicted output (the paper's variant with length prediction), and put right when it ends. Preempted requests
// have been charged: they return to the front, as in fcfs.
// Law: the counters of two tenants that both wait all the time differ by no more than the dearest request's charge (and
// the errors of prediction). Nobody starves. O(log tenants) a call, but for remove: O(n).
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include "sim/base/check.h"
#include "sim/sched/queue_order/predicted_length.h"
#include "sim/sched/waiting_queue.h"

namespace blockyard::sched {

class Fair final : public WaitingQueue {
 public:
  explicit Fair(const QueueOptions& options) : options_(options) {}

  void push(const Waiting& waiting) override {
    Tenant& tenant = tenants_[waiting.request.tenant];
    if (tenant.line.empty()) {
      tenant.counter = std::max(tenant.counter, order_.empty() ? last_counter_ : order_.begin()->first);
      order_.emplace(tenant.counter, waiting.request.tenant);
    }
    tenant.line.push_back(waiting);
    ++size_;
  }
  void push_preempted(const Waiting& waiting) override {
    preempted_.push_front(waiting);
    ++size_;
  }
  Waiting& front() override {
    CHECK_LAW(size_ > 0, "front of an empty queue");
    return preempted_.empty() ? tenants_.at(order_.begin()->second).line.front() : preempted_.front();
  }
  void pop_front() override {
    CHECK_LAW(size_ > 0, "pop of an empty queue");
    --size_;
    if (!preempted_.empty()) {
      preempted_.pop_front();
      return;
    }
    const std::uint32_t id = order_.begin()->second;
    Tenant& tenant = tenants_.at(id);
    const Waiting& first = tenant.line.front();
    const Tokens output = predicted_output(first.request, first.id, options_);
    const std::int64_t charge = first.request.prompt_tokens.count() + kOutputWeight * output.count();
    tenant.line.pop_front();
    add(id, tenant, charge);
    if (tenant.line.empty()) leave(id, tenant);
  }
  void ended(const workload::Request& request, RequestId id, Tokens generated) override {
    const Tokens error = generated - predicted_output(request, id, options_);
    if (error != Tokens(0)) add(request.tenant, tenants_.at(request.tenant), kOutputWeight * error.count());
  }
  std::optional<Waiting> remove(RequestId id) override {
    const auto is_it = [id](const Waiting& waiting) { return waiting.id == id; };
    const auto take = [&](std::deque<Waiting>& line) -> std::optional<Waiting> {
      const auto place = std::find_if(line.begin(), line.end(), is_it);
      if (place == line.end()) return std::nullopt;
      const Waiting removed = *place;
      line.erase(place);
      --size_;
      return removed;
    };
    if (std::optional<Waiting> removed = take(preempted_)) return removed;
    for (auto& [name, tenant] : tenants_) {
      const std::optional<Waiting> removed = take(tenant.line);
      if (!removed) continue;
      if (tenant.line.empty()) leave(name, tenant);
      return removed;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::int64_t size() const override { return size_; }

 private:
  static constexpr std::int64_t kOutputWeight = 2;

  struct Tenant {
    std::int64_t counter = 0;
    std::deque<Waiting> line;
  };

  // Its place in order_ follows, if it has one.
  void add(std::uint32_t id, Tenant& tenant, std::int64_t charge) {
    const bool stands = order_.erase({tenant.counter, id}) > 0;
    tenant.counter += charge;
    if (stands) order_.emplace(tenant.counter, id);
  }
  void leave(std::uint32_t id, const Tenant& tenant) {
    order_.erase({tenant.counter, id});
    last_counter_ = tenant.counter;
  }

  QueueOptions options_;
  std::map<std::uint32_t, Tenant> tenants_;
  std::set<std::pair<std::int64_t, std::uint32_t>> order_;  // tenants with waiting requests, by counter
  std::deque<Waiting> preempted_;
  std::int64_t last_counter_ = 0;
  std::int64_t size_ = 0;
};

}  // namespace blockyard::sched
