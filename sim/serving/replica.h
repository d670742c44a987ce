// One engine: a model on its group of GPUs. Runs the scheduler step after step, asks `cost` how long each takes, and
// tells the collector what happened. It knows simulated time only as it is told.
//
// begin(now, horizon) runs from `now`, at which no step is in flight, and returns when the step in flight ends: the
// caller calls it again then, or at an arrival if nothing was in flight. Steps that end before `horizon` are run
// through at once; that changes nothing but the number of events. Cost: O(1 + what changes) a step; a step that only
// decodes touches sums alone.
//
// A model on several pipeline stages (pipeline.h) has a batch under way for each of them, as vLLM V1's engine core has:
// while fewer are, and something can be computed, the next is planned at once; else the engine waits for the oldest,
// and whoever arrives meanwhile is seen when it has left the last stage. Here a step is a batch's way through all
// stages.
//
// Replicas that share experts take their steps together (cluster.h): then the caller ends and begins them, by plan()
// and take(), with the time that all of them take. One that has nobody to serve takes a step that computes for no one
// here.
//
// Without progress for `no_progress_limit` steps the run is stuck, unless a client's patience or a request that may
// overtake the head is due (`helped`). Then an engine that has nothing to compute takes 1, 2, 4, ... of its empty steps
// as one, up to the horizon: the wait costs the logarithm of its length. One that preempts in a circle gets a hundred
// times the limit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/kv/memory.h"
#include "sim/metrics/collector.h"
#include "sim/sched/scheduler.h"
#include "sim/serving/pipeline.h"
#include "sim/serving/prompt_contents.h"
#include "sim/serving/router.h"

namespace blockyard::serving {

// Requests have the same number everywhere.
[[nodiscard]] inline metrics::RecordId record(RequestId id) { return static_cast<metrics::RecordId>(id); }

// What a MemoryWork takes; the GPUs of a replica work side by side. Nothing of it overlaps with the step.
struct MemoryTimes {
  Seconds copied_token_s = 0;  // read once and written once at the memory bandwidth of one GPU
  Seconds mapped_page_s = 0;
  Seconds unmapped_page_s = 0;
};

// A step as it was taken; in a pipeline a batch's way through all stages.
struct StepTaken {
  std::size_t replica = 0;
  SimTime start;
  SimTime end;
  cost::StepWork work;          // nothing where contexts are computed again
  bool leaves_someone = false;  // in the queue
};

struct ReplicaOptions {
  std::size_t number = 0;  // among replicas
  bool one_of_several = false;
  bool tells_load = false;  // somebody asks for load_at_last_step()
  bool fast_forward = true;
  // The next step is planned while one runs, so that a request that arrives during step k joins step k + 2 (vLLM 0.14
  // and later).
  bool async_scheduling = false;
  std::int64_t steps_per_event = 1024;  // steps run through before the caller gets a word in
  bool tells_ends = false;              // somebody waits for answers: begin() returns once a request has ended
  std::int64_t block_bytes = 0;         // KV of one block over all GPUs: what a swap moves
  bool swaps = false;                   // there is a host pool
  std::int64_t token_bytes = 0;         // KV of one token over all GPUs
  MemoryTimes memory_times;
  std::function<void(SimTime, const MemoryChange&)> memory_changed;  // is told of each change of the pool; may be empty
  std::function<void(const StepTaken&)> step_taken;                  // is told of each step; may be empty
  std::int64_t no_progress_limit = 10000;                            // steps without progress after which the run stops
};

class Replica {
 public:
  Replica(const ReplicaOptions& options, sched::Scheduler& scheduler, kv::Memory& memory, cost::CostModel& cost,
          metrics::Collector& collector, PromptContents* contents);

  void arrive(SimTime now, RequestId id, const workload::Request& request);

  // The client leaves if it has no token yet; at the end of the step in flight, if there is one.
  void abandon(SimTime now, RequestId id);

  // Ends the step in flight, if any, which must end at `now`; begins the next. Returns its end, kNever if there is
  // nothing to do. `helped`: something is due that may free whoever is stuck.
  SimTime begin(SimTime now, SimTime horizon, bool helped = false);

  // The steps of begin(), one by one, for replicas that step together: end() the one in flight, if any; plan() the
  // next, and take() it once it is known how long it lasts.
  void end(SimTime now);
  [[nodiscard]] bool wants_to_step() const { return stuck_.empty() && anybody(); }
  // What it will compute: nothing if it has nobody, or can do nothing.
  [[nodiscard]] const cost::StepWork& plan(SimTime now, bool helped);
  // How long it is held up before it can begin.
  [[nodiscard]] SimTime held_up() const { return planned_.held + planned_.copying; }
  void take(SimTime now, SimTime lasts);
  // Nobody anywhere has anything to do.
  void rest() { tell_state(); }

  // How far this replica has been told of: the start of the step in flight, or the end of the last one; in a pipeline,
  // whose run may get stuck with batches under way, the later of both.
  [[nodiscard]] SimTime reached() const {
    if (pipeline_) return std::max(step_start_, step_end_);
    return step_in_flight() ? step_start_ : step_end_;
  }
  [[nodiscard]] bool step_in_flight() const { return in_flight_ != InFlight::nothing || batches_ > 0; }
  [[nodiscard]] std::int64_t waiting() const {
    return scheduler_->waiting() + std::ssize(unseen_) + std::ssize(arriving_);
  }
  [[nodiscard]] ReplicaLoad load() const { return {waiting(), scheduler_->running()}; }
  // As the engine tells it after a step: it has not yet taken in who arrived during it.
  [[nodiscard]] ReplicaLoad load_at_last_step() const { return load_at_last_step_; }
  [[nodiscard]] std::int64_t steps_started() const { return steps_started_; }
  // With tells_ends: the requests that have ended since they were last taken, in order.
  struct Ended {
    SimTime time;
    RequestId request{};
  };
  [[nodiscard]] std::vector<Ended>& ended() { return ended_; }
  [[nodiscard]] std::int64_t finished() const { return finished_; }
  [[nodiscard]] std::int64_t unfinished() const { return scheduler_->running() + waiting(); }
  // Why the run had to stop, "" while it may go on.
  [[nodiscard]] const std::string& stuck() const { return stuck_; }

 private:
  // Leaves room for the longest step before 64 bits of nanoseconds run out, at 292 years.
  static constexpr SimTime kLongestRun = SimTime(250LL * 365 * 86400 * kNanosecondsPerSecond);

  // others_step: with others that have something to compute, for whom this one does its part.
  enum class InFlight { nothing, plain_step, step, others_step };

  // A step that is about to begin.
  struct Planned {
    const sched::Batch* batch = nullptr;
    SimTime held;     // by copies, before it begins
    SimTime copying;  // by what memory had to do
    cost::StepTime computing;
    cost::StepWork work;
  };

  struct Arrival {
    RequestId id{};
    workload::Request request;
  };

  // A batch on its way through a pipeline, and what each request in it, and its cohort, would have taken alone.
  struct UnderWay {
    struct Part {
      RequestId request{};
      SimTime own;
      SimTime overhead;
    };
    SimTime start;
    SimTime end;
    SimTime computes;  // over all stages
    SimTime sends;
    std::vector<Part> parts;
    std::optional<CohortId> cohort;
    Part of_cohort;  // of each member
  };

  [[nodiscard]] bool anybody() const { return scheduler_->running() > 0 || scheduler_->waiting() > 0; }
  SimTime send_batches(SimTime now);
  bool send_batch(SimTime now);
  [[nodiscard]] SimTime enter_pipeline(UnderWay& sent, const sched::Batch& batch);
  void receive_batch(SimTime now);
  [[nodiscard]] cost::StepWork work_of(const sched::Batch& batch) const;
  void end_step(SimTime now);
  void end_others_step(SimTime now);
  void check_clock(SimTime now) {
    if (now > kLongestRun) [[unlikely]]
      stuck_ = "the clock has reached 250 simulated years";
  }
  void note_load() {
    if (options_.tells_load) load_at_last_step_ = {planned_waiting_, scheduler_->running()};
  }
  void tell_state();
  void tell_step(SimTime start, SimTime end, const cost::StepWork& work) const;
  void tell_memory();
  void hand_over_arrivals();
  bool drop_unseen(RequestId id);
  SimTime start_step(SimTime now);
  void plan_step(SimTime now);
  // How long the planned step takes, of a replica that waits for no others.
  [[nodiscard]] SimTime lasts_by_itself(SimTime now);
  void charge(SimTime now, const sched::Batch& batch, const cost::StepTime& computing, SimTime lasts);
  void record_batch(SimTime now, const sched::Batch& batch);
  void charge_parts(const sched::Batch& batch, const cost::StepTime& computing);
  // charge(request, own, overhead) for the chunks of each request.
  template <class Charge>
  void for_chunks_of_each(const sched::Batch& batch, const cost::StepTime& computing, const Charge& charge) {
    for (std::span<const sched::Chunk> left = batch.chunks; !left.empty();) {
      const RequestId request = left.front().request;
      const auto of_request =
          std::ranges::find_if(left, [=](const sched::Chunk& chunk) { return chunk.request != request; });
      const auto chunks = left.first(static_cast<std::size_t>(of_request - left.begin()));
      left = left.subspan(chunks.size());
      const bool single = chunks.size() == batch.chunks.size() && batch.decodes == 0;
      const SimTime own = single ? computing.total : std::min(alone(chunks), computing.total);
      const SimTime overhead = std::min(computing.overhead, own);
      charge(request, own - overhead, overhead);
    }
  }
  void record_outcome(SimTime now, SimTime began, const sched::StepOutcome& outcome);
  // `work`: what the batch computes; nothing where contexts are computed again.
  [[nodiscard]] cost::StepTime duration(const sched::Batch& batch, cost::StepWork& work);
  [[nodiscard]] cost::StepTime recomputed_duration(const sched::Batch& batch);
  [[nodiscard]] SimTime alone(std::span<const sched::Chunk> chunks);
  void record_swaps(SimTime now, const sched::Batch& batch);
  [[nodiscard]] SimTime memory_time();
  void check_progress(bool progress);
  void look_again();
  [[nodiscard]] SimTime as_one(SimTime empty_step, SimTime now);
  void let_go(SimTime now, RequestId id);
  void note_end(SimTime now, RequestId id);
  [[nodiscard]] bool answered(RequestId id) const { return index_of(id) < answered_.size() && answered_[index_of(id)]; }
  void hand_over(RequestId id, const workload::Request& request);

  ReplicaOptions options_;
  std::size_t number_;
  sched::Scheduler* scheduler_;
  kv::Memory* memory_;
  cost::CostModel* cost_;
  metrics::Collector* collector_;
  PromptContents* contents_;  // nullptr without a prefix cache
  bool tells_sharing_;        // the memory shares blocks between the samples of a request
  SimTime now_;               // of what is done to memory
  InFlight in_flight_ = InFlight::nothing;
  SimTime step_start_;
  SimTime step_end_;
  sched::Batch plain_batch_;
  Planned planned_;
  std::vector<Arrival> arriving_;   // async scheduling: arrived during the step in flight
  std::vector<Arrival> unseen_;     // arrived during the step before it: the plan of the next step knows them
  std::vector<bool> answered_;      // by request: it has its first token
  std::vector<RequestId> leaving_;  // clients that leave when the step in flight ends
  std::vector<Ended> ended_;
  std::int64_t planned_waiting_ = 0;  // once the step in flight was planned
  ReplicaLoad load_at_last_step_;
  std::int64_t steps_started_ = 0;
  std::int64_t finished_ = 0;
  std::int64_t steps_without_progress_ = 0;
  bool helped_ = false;
  SimTime horizon_;
  bool idle_ = false;              // the step in flight computes nothing, and nothing is under way
  std::int64_t steps_as_one_ = 1;  // how many idle steps may be taken as one
  std::string stuck_;

  // With several stages.
  std::optional<Pipeline> pipeline_;
  std::vector<cost::StagePass> passes_;  // scratch
  std::vector<UnderWay> under_way_;      // a ring
  std::size_t oldest_ = 0;
  std::size_t batches_ = 0;  // of it, from oldest_ on
  SimTime idle_from_;        // of all stages, once what is under way has ended
};

}  // namespace blockyard::serving
