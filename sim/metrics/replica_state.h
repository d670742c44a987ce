// Of a run of several replicas, what one of them is doing: the state that it told last, and what has added up of it for
// the table by replica. Integrals are exact: a state lasts from the instant at which it was told. Cost: O(1) a call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "sim/base/memory_states.h"
#include "sim/base/quantities.h"
#include "sim/metrics/gap_histogram.h"

namespace blockyard::metrics {

struct ReplicaState {
  // What was told last.
  std::int64_t running = 0;
  std::int64_t waiting = 0;
  MemoryPartition memory;
  std::int64_t largest_free = 0;
  std::int64_t host_live = 0;  // bytes
  std::int64_t held_blocks = 0;
  std::int64_t unshared_blocks = 0;
  bool steps = false;       // a step is under way
  bool steps_idly = false;  // which computes for nobody here

  // What has added up.
  SimTime since;  // until when it has
  Int128 running_integral = 0;
  Int128 waiting_integral = 0;
  Int128 owned_integral = 0;  // slots neither free nor only cached
  std::int64_t max_running = 0;
  SimTime busy;
  SimTime idle_steps;
  std::int64_t step_count = 0;
  std::int64_t computed_tokens = 0;
  std::int64_t output_tokens = 0;
  std::int64_t looked_up_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t preemptions = 0;

  // The state has lasted until `now`.
  void settle(SimTime now) {
    const std::int64_t lasted = (now - since).count();
    if (lasted == 0) return;
    const std::int64_t owned =
        memory.total() - memory[MemoryState::free] - memory[MemoryState::cached] - memory[MemoryState::external];
    running_integral += static_cast<Int128>(running) * lasted;
    waiting_integral += static_cast<Int128>(waiting) * lasted;
    owned_integral += static_cast<Int128>(owned) * lasted;
    if (steps) (steps_idly ? idle_steps : busy) += SimTime(lasted);
    since = now;
  }

  // The same state from `now` on, nothing of which has added up.
  [[nodiscard]] ReplicaState begun_again(SimTime now) const {
    ReplicaState fresh;
    fresh.running = fresh.max_running = running;
    fresh.waiting = waiting;
    fresh.memory = memory;
    fresh.largest_free = largest_free;
    fresh.host_live = host_live;
    fresh.held_blocks = held_blocks;
    fresh.unshared_blocks = unshared_blocks;
    fresh.steps = steps;
    fresh.steps_idly = steps_idly;
    fresh.since = now;
    return fresh;
  }
};

// A row of the table by replica. Requests are those let in to it over the whole run; all else is of the time that
// statistics are of.
struct ReplicaFigures {
  std::int64_t requests = 0;
  std::int64_t finished = 0;
  std::int64_t prompt_tokens = 0;  // of its requests
  std::int64_t output_tokens = 0;
  std::int64_t computed_tokens = 0;
  std::int64_t steps = 0;
  double mean_running = 0;
  std::int64_t max_running = 0;
  double mean_waiting = 0;
  double kv_use = 0;  // share of its pool that requests hold, time-weighted
  std::int64_t looked_up_tokens = 0;
  std::int64_t hit_tokens = 0;
  std::int64_t preemptions = 0;
  Seconds busy_s = 0;        // with a step under way that computes for a request of its own
  Seconds idle_steps_s = 0;  // with one that it takes only because others take one
  Seconds idle_s = 0;        // without any

  [[nodiscard]] std::optional<double> hit_ratio() const {
    if (looked_up_tokens == 0) return std::nullopt;
    return static_cast<double>(hit_tokens) / static_cast<double>(looked_up_tokens);
  }
  [[nodiscard]] double busy_share() const { return share(busy_s); }
  [[nodiscard]] double idle_steps_share() const { return share(idle_steps_s); }

 private:
  [[nodiscard]] double share(Seconds part) const {
    const Seconds all = busy_s + idle_steps_s + idle_s;
    return all > 0 ? part / all : 0;
  }
};

}  // namespace blockyard::metrics
