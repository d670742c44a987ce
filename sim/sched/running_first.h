// Iteration-level scheduling with running requests first: what vLLM V1, Sarathi and Orca share. Each step:
//   A. running requests in list order get the tokens they lack, out of one token budget; where memory is short, a
//      victim (the last of the list, or the least urgent) is preempted and the request tries again;
//   B. unless A preempted anything, waiting requests are admitted from the head while budget, seats and memory last;
//      the first refusal ends the step's admissions.
// There is no prefill or decode phase: both bring `computed` up to `length`.
//
// A request of n samples (or beams) stands in the list once and takes n seats, and n tokens of the budget beyond its
// prompt. Its sequences are scheduled, preempted and resumed all together, as vLLM's sequence groups are (Kwon et al.,
// SOSP 2023, sec. 4.5); vLLM V1 runs n children instead, which find the prompt in the prefix cache.
//
// The common step needs no walk. Sequences that only decode stand in a cohort (cohort.h); those still short of
// their length stand in `prefilling_`. If budget and memory cover everybody's demand, the cohort takes its step on
// sums. If memory does not and victims come from the list's tail, the outcome of the engine's walk is the shortest tail
// whose removal makes the rest fit, since a victim never stands before the request that asks. Only a budget that binds
// in mid-list and priority victims take the walk itself.
//
// Under a victim policy (preemption/victim.h), with copies that overlap steps, or where victims lose only their last
// blocks, part A is simpler than the engine's: victims are chosen before anybody is given tokens, one after the other
// until what the running ones ask for fits. Each choice walks the running list; steps in which memory suffices do not.
//   overlap      a victim's blocks are free when its copy has ended; until then those that find no block skip steps. A
//                sequence that comes back has its seat and its memory from the start of its copy, and runs after its
//                end.
//   tail_blocks  a victim loses as many of its last blocks as are needed. It waits with the rest, and loses more before
//                the next victim is chosen, so that at most one request waits with blocks on the GPU.
// Swapped-out requests wait in the same queue as all others.
//
// Pipelines (batches_under_way > 1): as many batches are planned before the oldest has its result, as vLLM V1's engine
// core does (v0.13, EngineCore.step_with_batch_queue). A prompt's next chunk is planned while the one before is under
// way; a sequence whose next token is not known yet wants none, and passes the batch. Everybody may be preempted, under
// way or not: the token that a victim's batch brings later is kept. Each batch has a cohort of its own, which is
// planned again as soon as it has its tokens; the rule of the shortest tail holds as it stands, since the list's order
// is the same. The walk passes by the cohorts under way, and dissolves the one that is ready.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/sched/cohort.h"
#include "sim/sched/preemption/host_swap.h"
#include "sim/sched/preemption/restore_cost.h"
#include "sim/sched/preemption/victim.h"
#include "sim/sched/running_list.h"
#include "sim/sched/scheduler.h"
#include "sim/sched/waiting_queue.h"

namespace blockyard::sched {

struct RunningFirstOptions {
  std::int64_t max_num_seqs = 256;
  Tokens max_num_batched_tokens{2048};
  Tokens max_model_len{8192};
  Tokens long_prefill_token_threshold{0};  // 0 = off
  bool chunked_prefill = true;
  std::string_view queue_order = "fcfs";  // priority also chooses victims by priority
  QueueOptions queue;
  bool whole_batches = false;          // nobody is admitted while anybody runs (static_batching.h)
  std::int64_t watermark_grains = 0;   // kept free at admission, against the demand of the whole known sequence
  bool reserve_full_isl = false;       // admit only what fits whole (scheduler_reserve_full_isl, vLLM 0.19 and later)
  bool fast_forward = true;            // false: walk the running list in every step
  std::int64_t batches_under_way = 1;  // at most: stages of a pipeline. More than one: the engine's own victims alone,
                                       // by recompute, of one sample each
  bool beam_search = false;            // beams choose their parents before each step
  std::string_view victim = "engine";
  Tokens tail_blocks{0};  // > 0: victims lose only their last blocks, of so many tokens
};

class RunningFirst final : public Scheduler, private CachedPrefixes {
 public:
  RunningFirst(const RunningFirstOptions& options, kv::Allocator& memory, Restoring restoring = {});

  void arrive(RequestId id, const workload::Request& request) override;
  const Batch& schedule(SimTime now) override;
  const StepOutcome& complete(SimTime now) override;
  bool plain_step(Batch& batch) override;
  bool abort(RequestId id) override;
  void name_beneficiaries() override { names_beneficiaries_ = true; }
  [[nodiscard]] std::int64_t running() const override { return running_.size(); }
  [[nodiscard]] std::int64_t waiting() const override { return waiting_->size(); }
  [[nodiscard]] std::int64_t swapped() const override { return host_ == nullptr ? 0 : host_->sequences(); }
  [[nodiscard]] Blocks host_used() const override { return host_ == nullptr ? Blocks(0) : host_->used(); }
  void describe_plan(std::vector<PlanEntry>& out) const override;
  void running_list(std::vector<RequestId>& requests, std::vector<SequenceId>& sequences) const override;

 private:
  // A sequence that this step computes tokens for on its own account, outside the cohort.
  struct Planned {
    SequenceId id = SequenceId::none;
    Tokens fresh;
    PlanEntry::Kind kind = PlanEntry::Kind::running;
    Tokens hit;                    // at admission: tokens found in the prefix cache
    Tokens upto{};                 // computed, with this
    Tokens again{};                // of `fresh`: computed before
    std::int32_t preemptions = 0;  // of the sequence, when it was planned
  };

  // A batch on its way through a pipeline.
  struct UnderWay {
    std::vector<Planned> planned;
    std::optional<CohortId> cohort;  // that decodes in it
    SimTime planned_at;
  };

  [[nodiscard]] Tokens wanted(const Sequence& s) const;
  // What a waiting sequence asks the prefix cache for.
  [[nodiscard]] static Tokens asked(const Sequence& s);
  Tokens cached_prefix(Waiting& waiting) override;
  [[nodiscard]] std::uint64_t changes() const override { return memory_->prefix_changes() + changes_of_kept_; }
  // Part A on sums; false if this step needs the walk (then nothing has changed).
  bool plan_by_sums(SimTime now);
  bool grow_all();
  [[nodiscard]] bool budget_covers_all();
  [[nodiscard]] std::int64_t memory_demand() const;
  void plan_by_walk(SimTime now);
  void dissolve_cohort(SimTime now);
  // Part A under a victim policy.
  void plan_by_rank(SimTime now);
  void share_budget();
  [[nodiscard]] std::int64_t shortage() const;
  void grow_some(SimTime now);
  void skip(SequenceId id);
  [[nodiscard]] SequenceId worst_of_running() const;
  [[nodiscard]] Rank rank_of(SequenceId id, const DecodeLoad& load) const;
  [[nodiscard]] DecodeLoad decode_load() const;
  // Victims and what becomes of their KV.
  void take_off(SequenceId id, SimTime now);
  void shed(SequenceId id, std::int64_t grains, SwapCause cause);
  void give_up(SequenceId id, Tokens keep, Tokens to, SwapCause cause);
  void drop_all_kv(SequenceId id);
  void settle_copies();
  [[nodiscard]] kv::Grant take_memory(SequenceId id, const Sequence& s, Tokens first);
  void bring_back(SequenceId id, Tokens found);
  [[nodiscard]] bool copies_under_way() const;
  void hold_for_copies();
  void admit_waiting();
  [[nodiscard]] SequenceId open_sequence(const Waiting& waiting);
  [[nodiscard]] bool gates_open(SequenceId id, const Sequence& s) const;
  void describe_line(Batch& batch);
  [[nodiscard]] bool closed_to_admission() const { return options_.whole_batches && running_.size() > 0; }
  void preempt(SequenceId id, SimTime now);
  void name_beneficiary(SequenceId loser);
  // Whose members' tokens are known, so that the next batch may have them: the only one unless batches are under way.
  [[nodiscard]] Cohort& ready() { return cohorts_[index_of(ready_)]; }
  [[nodiscard]] const Cohort& ready() const { return cohorts_[index_of(ready_)]; }
  [[nodiscard]] bool is_ready(const Sequence& s) const { return s.in_cohort && s.cohort == ready_; }
  void leave_cohort(SequenceId id, SimTime now);
  [[nodiscard]] SequenceId victim() const;
  void choose_parents();
  [[nodiscard]] bool seats_for_head() const;
  void describe_chunk(const Sequence& s, Tokens fresh);
  void describe_batch();
  void complete_planned(const Planned& planned, SimTime now);
  [[nodiscard]] bool pipelined() const { return !under_way_.empty(); }
  void send_batch();
  void receive_batch();
  void make_ready(CohortId cohort);
  void plan_by_itself(SequenceId id, const Cohort& cohort);
  void finish(SequenceId id, SimTime now);
  void finish_waiting(SequenceId id, SimTime now);
  void forget_under_way(SequenceId id);
  void end(SequenceId id);

  RunningFirstOptions options_;
  bool victims_by_priority_;
  bool arrivals_overtake_;                       // one may come before the head
  std::unique_ptr<VictimPolicy> victim_policy_;  // nullptr: the engine's own rule
  kv::Allocator* memory_;
  RestoreCost* restore_cost_;
  std::unique_ptr<HostSwap> host_;  // nullptr: recompute alone
  bool plans_by_rank_;              // part A is the simpler one
  bool forms_cohorts_;              // sequences that only decode stand in one
  SequenceTable table_;
  RunningList running_;
  std::vector<Cohort> cohorts_;  // one, or one more than batches may be under way
  CohortId ready_{};
  std::unique_ptr<WaitingQueue> waiting_;
  bool names_beneficiaries_ = false;
  RequestId beneficiary_{};             // for whom the victim of the moment goes
  std::vector<SequenceId> prefilling_;  // running, in no cohort; in list order
  std::vector<Planned> planned_;        // in scheduling order; of the step being planned, or completed
  std::vector<UnderWay> under_way_;     // in a pipeline: batches without result, a ring
  std::size_t oldest_ = 0;
  std::size_t sent_ = 0;                  // of under_way_, from oldest_ on
  std::vector<SequenceId> leaving_;       // waiting, their blocks still on the way to the host (overlap)
  std::uint64_t changes_of_kept_ = 0;     // of those who wait
  SequenceId holder_ = SequenceId::none;  // waiting, with the beginning of its KV on the GPU (tail_blocks)
  std::vector<SequenceId> finished_;      // scratch of complete()
  std::vector<Tokens> wanted_;            // scratch: tokens for each of prefilling_
  std::vector<kv::Growth> growths_;       // scratch of plan_by_sums()
  SimTime now_;
  Tokens budget_;
  bool short_of_memory_ = false;  // in this step: nobody is admitted
  bool cohort_planned_ = false;   // it decodes in the step being planned, or completed
  bool cohort_grown_ = false;     // plain_step() grew it, then left the step to schedule()
  // The head was refused in a step that did nothing but decode, and nothing that could change the answer has happened
  // since.
  bool head_blocked_ = false;
  QueueCause head_waits_for_ = QueueCause::kv_memory;  // found by the last attempt to admit it
  Batch batch_;
  StepOutcome outcome_;
};

}  // namespace blockyard::sched
