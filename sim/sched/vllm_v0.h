// vLLM V0 (0.6.6.post1): a step is a step of prefills or a step of decodes, or with chunked prefill a mixture under one
// token budget. Step-exact against recorded runs, its dead ends included.
//
//   default   unless something is swapped out, prefills from the head of waiting; if there are any they are the whole
//             step. Otherwise, under `priority`, the urgent head may drive out the least urgent; then the running ones
//             decode, and if none of them had to go, swapped-out ones come back.
//   chunked   running ones, swapped-out ones unless somebody had to go, prefills always.
// A running request that finds no block takes the memory of the last of the running list. Not modelled: LoRA, beam
// search and parallel samples, multi-step, asynchronous output processing.
//
// Every request gets a SequenceId on arrival. Cost: O(batch) a step. Source: vLLM 0.6.6, core/scheduler.py.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "sim/kv/v0/memory.h"
#include "sim/sched/preemption/kv_link.h"
#include "sim/sched/scheduler.h"
#include "sim/sched/v0_budget.h"

namespace blockyard::sched {

enum class V0Preemption { recompute, swap };

struct VllmV0Options {
  std::int64_t max_num_seqs = 256;
  Tokens max_num_batched_tokens{2048};
  Tokens max_model_len{8192};
  bool chunked_prefill = false;
  bool priority = false;  // of the default policy; chunked prefill is always first come, first served
  V0Preemption preemption = V0Preemption::recompute;
  bool recompute_when_host_is_full = false;  // false: the engine dies
};

class VllmV0 final : public Scheduler {
 public:
  static constexpr std::string_view kHostExhausted = "cpu_swap_space_exhausted";
  // The engine takes a prompt of max_model_len tokens and stops a sequence when it is longer than that.
  static constexpr Tokens kBeyondMaxModelLen{1};

  // `link`: what swaps go over; nullptr: they take no time.
  VllmV0(const VllmV0Options& options, kv::V0Memory& memory, KvLink* link = nullptr);

  void arrive(RequestId id, const workload::Request& request) override;
  const Batch& schedule(SimTime now) override;
  const StepOutcome& complete(SimTime now) override;
  bool plain_step(Batch& /*batch*/) override { return false; }
  bool abort(RequestId id) override;
  [[nodiscard]] std::int64_t running() const override { return static_cast<std::int64_t>(running_.size()); }
  [[nodiscard]] std::int64_t waiting() const override {
    return static_cast<std::int64_t>(waiting_.size() + swapped_.size());
  }
  [[nodiscard]] std::int64_t swapped() const override { return static_cast<std::int64_t>(swapped_.size()); }
  [[nodiscard]] Blocks host_used() const override { return memory_->host_used(); }
  void describe_plan(std::vector<PlanEntry>& out) const override;
  void running_list(std::vector<RequestId>& requests, std::vector<SequenceId>& sequences) const override;

 private:
  struct Row {
    RequestId id{};
    workload::Request request;
    Tokens generated;
    Tokens computed;
    bool decoding = false;        // from `computed` first reaching length() until a preemption by recompute
    bool admitted = false;        // at least once
    std::int64_t planned_in = 0;  // the last step that computed tokens for it
    Tokens highest;               // the largest `computed` before a recompute took it away
    SimTime last_token;
    SimTime preempted_at = kNever;  // kNever = nothing to regain
    SimTime waits_since;            // of a preempted one: when it last lost its seat
    SimTime stall_waiting;          // time without a seat in the present stall

    [[nodiscard]] Tokens length() const { return request.prompt_tokens + generated; }
  };
  // New tokens of a request: to be computed, and found in the prefix cache.
  struct Fresh {
    Tokens uncached;
    Tokens cached;
  };
  struct Planned {
    SequenceId id = SequenceId::none;
    Fresh fresh;
    bool prefill = false;
    PlanEntry::Kind kind = PlanEntry::Kind::running;
  };
  using Queue = std::deque<SequenceId>;
  enum class Chunking { off, on };

  [[nodiscard]] Row& row(SequenceId id) { return rows_[index_of(id)]; }
  [[nodiscard]] const Row& row(SequenceId id) const { return rows_[index_of(id)]; }
  [[nodiscard]] Tokens output_of(const Row& r) const {
    const kv::SequenceNeed need = need_of(r.request, options_.max_model_len + kBeyondMaxModelLen);
    return need.true_end - need.prompt + Tokens(1);
  }
  [[nodiscard]] bool less_urgent(SequenceId a, SequenceId b) const;

  void schedule_default();
  void schedule_chunked();
  void pass_over_running(Chunking chunking);
  void admit_prefills(Chunking chunking);
  void swap_in();
  void drive_out_for_priority();
  void sort_by_urgency(Queue& queue);

  [[nodiscard]] Fresh fresh_tokens(SequenceId id, Chunking chunking);
  void preempt(SequenceId id, SequenceId beneficiary);
  void lose_seat(Row& r);
  void preempt_by_recompute(SequenceId id, SequenceId beneficiary);
  void put_back_preempted();
  void describe_batch();
  void describe_line();
  void complete_one(const Planned& planned, SimTime now);
  void ignore(SequenceId id);
  void close(SequenceId id);

  VllmV0Options options_;
  kv::V0Memory* memory_;
  KvLink* link_;
  V0Budget budget_;
  std::vector<Row> rows_;
  std::vector<SequenceId> unused_;
  Queue waiting_;
  Queue running_;
  Queue swapped_;
  std::int64_t step_ = 0;
  SimTime now_;

  // One step's findings.
  std::vector<Planned> prefills_;  // admitted
  std::vector<Planned> running_prefills_;
  std::vector<Planned> decodes_;
  std::vector<Planned> swapped_in_prefills_;
  std::vector<Planned> swapped_in_decodes_;
  std::vector<Planned> plan_;           // all of them, in scheduling order
  std::vector<SequenceId> recomputed_;  // victims of the running pass
  std::vector<SequenceId> swapped_out_;
  std::vector<SequenceId> finished_;
  std::vector<std::pair<SequenceId, std::size_t>> by_urgency_;  // scratch of sort_by_urgency()
  Batch batch_;
  StepOutcome outcome_;
};

}  // namespace blockyard::sched
