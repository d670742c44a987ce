// Random workloads for the schedulers, and one engine that serves them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/kv/allocator/strategies.h"
#include "sim/sched/running_first.h"

namespace blockyard::sched_tests {

struct Scenario {
  std::string scheduler;
  std::string strategy;
  std::string placement;
  std::string reservation;
  kv::MemoryOptions memory;  // what is not above
  std::string queue_order;
  Tokens block_size;
  Tokens capacity;
  Tokens max_model_len;
  std::int64_t max_num_seqs = 0;
  Tokens budget;
  Tokens threshold;
  bool chunked = true;
  std::int64_t watermark = 0;
  std::string victim = "engine";
  std::string mode = "recompute";
  Blocks host_blocks;
  bool overlap = false;
  bool tail_blocks = false;
  std::vector<std::pair<std::int64_t, workload::Request>> requests;  // step of arrival, ascending
};

Scenario random_scenario();

// What a restore takes need only be a fixed function of what it is asked.
class QuadraticRestore final : public sched::RestoreCost {
 public:
  SimTime recompute(Tokens tokens, const sched::DecodeLoad& load) override {
    return SimTime(tokens.count() * tokens.count() + load.sequences * load.context);
  }
  SimTime swap(SimTime now, const sched::Copy& copy) const override {
    return SimTime(now.count() % 50 + 20 * copy.pieces);
  }
};

// Each way one copy after the other, 3 ns a piece: some end within a step of 10 ns, some take several.
class SlowLink final : public sched::KvLink {
 public:
  SimTime begin_out(SimTime now, const sched::Copy& copy) override {
    return out_ = std::max(out_, now) + 3 * SimTime(copy.pieces);
  }
  SimTime begin_in(SimTime now, const sched::Copy& copy) override {
    return in_ = std::max(in_, now) + 3 * SimTime(copy.pieces);
  }

 private:
  SimTime out_;
  SimTime in_;
};

// One scheduler and its memory.
struct Engine {
  // With several batches under way, as a pipeline has them.
  Engine(const Scenario& scenario, bool fast_forward, std::int64_t batches_under_way = 1);

  QuadraticRestore restore_cost;
  SlowLink link;
  std::unique_ptr<kv::Allocator> memory;
  std::unique_ptr<sched::Scheduler> scheduler;
  std::int64_t watermark = 0;
};

}  // namespace blockyard::sched_tests
