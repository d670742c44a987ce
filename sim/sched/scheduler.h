// Who runs next: the contract of every scheduler. The replica calls schedule() at the start of a step and complete() at
// its end; what happened comes back as plain lists, reused from step to step. A scheduler asks its allocator for memory
// and knows no time but what it is told.
//
// In a pipeline several batches are under way: schedule() is called again before the complete() of the batch before.
// complete() is of the oldest. A batch without tokens that is scheduled while others are under way is not, and has no
// complete(). Between two complete() there is a schedule(), at the time of the first.
//
// Law: arrivals == waiting + running + finished (+ rejected, which never reach it). Cost: a step is O(1 + sequences
// admitted, chunked, preempted or finished in it); with fast_forward off it walks the whole running list, to the same
// result.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/quantities.h"
#include "sim/base/queue_cause.h"
#include "sim/base/swap_cause.h"
#include "sim/kv/allocator/allocator.h"
#include "sim/workload/request.h"

namespace blockyard::sched {

// A piece of prefill (or of recomputation) done in one step. Those of one request stand together: beyond its prompt
// each of its sequences has one.
struct Chunk {
  Tokens fresh;    // tokens computed in this step
  Tokens context;  // tokens computed before it
  RequestId request{};
  bool last = false;  // it brings `computed` up to the length, and yields a token
};

// The blocks of a request on their way between GPU and host.
struct Swap {
  RequestId request;
  Blocks blocks;
  SwapCause cause = SwapCause::victim;
  RequestId beneficiary{};  // on the way out, if asked for by name_beneficiaries(): for whom it has to go
};

// Its KV is dropped, to be computed again.
struct Preempted {
  RequestId request;
  RequestId beneficiary{};  // as that of a swap

  [[nodiscard]] bool operator==(const Preempted&) const = default;
};

struct Finish {
  RequestId request;
  Tokens generated;
};

// What one step computes. Sums for the decodes, one entry a chunk.
struct Batch {
  std::int64_t decodes = 0;
  std::int64_t decode_context = 0;          // sum of their context lengths, the new token included
  std::int64_t decode_context_squares = 0;  // sum of the squares
  std::int64_t decode_longest = 0;          // the longest of them
  std::int64_t sampled = 0;                 // sequences that yield a token
  std::vector<Chunk> chunks;
  std::vector<RequestId> decoding;   // in a pipeline: whose the decodes are, but for those of the cohort
  std::optional<CohortId> cohort;    // in a pipeline: its members decode in the batch
  std::vector<RequestId> admitted;   // first admissions
  std::vector<RequestId> resumed;    // admitted again after a preemption by recompute
  std::vector<Preempted> preempted;  // by recompute
  std::vector<Swap> swapped_out;     // preempted by swap
  std::vector<Swap> swapped_in;
  SimTime held_until;               // copies hold the step up: nothing is computed before
  std::vector<RequestId> skipped;   // running, and given no token; not those whose KV is on its way back
  std::vector<RequestId> fetching;  // running; what they found of their KV is on its way to the GPU
  std::vector<Finish> ignored;      // ended by the scheduler without (further) output: it could never be held
  std::string_view failure;         // the engine died while it scheduled, and why; nothing of the step counts
  // Prefix cache, over the admissions of the step: tokens looked up, found, and of those found by requests that
  // resumed.
  std::int64_t looked_up = 0;
  std::int64_t hit = 0;
  std::int64_t looked_up_resumed = 0;
  std::int64_t hit_resumed = 0;
  std::int64_t refused_although_free = 0;  // admissions refused for the first time although enough memory was free

  // If anybody waits once the step is planned: who is next, and what kept it out.
  RequestId head{};
  QueueCause head_waits_for = QueueCause::seat;

  [[nodiscard]] bool empty() const { return decodes == 0 && chunks.empty(); }
  void clear();  // the lists keep their memory
};

struct Restore {
  RequestId request;
  SimTime stall;    // from the preemption until the computed length was regained
  SimTime waiting;  // of that, without a seat
};
struct Recompute {
  RequestId request;
  Tokens tokens;  // positions computed again
};

// What a step has brought.
struct StepOutcome {
  std::int64_t tokens = 0;      // output tokens
  std::int64_t computed = 0;    // tokens whose KV was computed
  std::int64_t shared_gap = 0;  // output tokens whose gap to the one before is the step's own duration
  std::vector<SimTime> gaps;    // the gaps of all others but first tokens
  std::vector<RequestId> first_tokens;
  std::vector<RequestId> joined;  // in a pipeline: from now on they are members of `cohort`
  CohortId cohort{};
  std::vector<Finish> finished;  // in scheduling order
  std::vector<Restore> restored;
  std::vector<Recompute> recomputed;
  bool progress = false;  // some request generated a token, or computed a position for the first time

  void clear();  // the lists keep their memory
};

// One line of a step's plan, as recorded runs of engines have it.
struct PlanEntry {
  enum class Kind { running, admitted, resumed };
  RequestId request{};
  Tokens fresh;
  Kind kind = Kind::running;
  Tokens hit;            // tokens found in the prefix cache; 0 if running
  bool prefill = false;  // vllm-v0: in its prefill stage
  Tokens memorised{0};   // vllm-v0: its standing number of cached tokens
};

// What a request writes where no sequence grows longer than `longest`: generation stops when prompt + output reach it,
// or max_tokens. At least one token comes out of every prefill. The prompt is shorter than the limit.
[[nodiscard]] kv::SequenceNeed need_of(const workload::Request& request, Tokens longest);

class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler() = default;

  virtual void arrive(RequestId id, const workload::Request& request) = 0;
  virtual const Batch& schedule(SimTime now) = 0;
  virtual const StepOutcome& complete(SimTime now) = 0;

  // If the next step would only decode, with nothing admitted, finished or refused for the first time: takes it
  // (schedule and complete in one), fills the batch's sums and returns true. Otherwise schedule() has to follow. O(1).
  virtual bool plain_step(Batch& batch) = 0;

  // The client gives up on a request: it leaves its queue and its memory is free at once. False if it is not here.
  // Between steps only.
  virtual bool abort(RequestId id) = 0;

  // From now on victims are told for whom they go: the first request, in scheduling order, for whose tokens memory was
  // short. It may be the victim itself. O(batch) a preemption where it is not known anyway.
  virtual void name_beneficiaries() {}

  [[nodiscard]] virtual std::int64_t running() const = 0;
  [[nodiscard]] virtual std::int64_t waiting() const = 0;               // all without a seat, swapped-out ones too
  [[nodiscard]] virtual std::int64_t swapped() const { return 0; }      // of these, those whose KV is on the host
  [[nodiscard]] virtual Blocks host_used() const { return Blocks(0); }  // of the pool that swaps go to

  // For comparison with recorded runs; O(batch). The plan of the step just scheduled, in scheduling order; the running
  // list.
  virtual void describe_plan(std::vector<PlanEntry>& out) const = 0;
  virtual void running_list(std::vector<RequestId>& requests, std::vector<SequenceId>& sequences) const = 0;
};

}  // namespace blockyard::sched
