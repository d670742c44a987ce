// Writes down what an engine decides, step by step, in the format of recorded runs. It is told of rejections and
// aborts, looks at the scheduler after schedule() and after complete(), and gives a JSON line a step and one for the
// end.
//
//   s      step number                               sch   the plan, in scheduling order (below)
//   np     v0: prefills at the start of sch          pre   requests preempted by recompute, in order
//   so si  v0: [i, blocks] swapped out, in           sx    v0: CRC over the (source, destination) ids of so, si
//   ign    v0: ended without output                  fin   [i, tokens generated], in order of freeing
//   rej abt  rejected by the front end, aborted      q     running, waiting (v0: swapped) after schedule() and after
//   f c    free GPU (v0: host) blocks, likewise      h e   v1, caching: registered hashes at the end, evictions
//   fq     CRC over the free list, likewise          bt    CRC over the running list after schedule(): i, number of
//                                                          blocks, block ids
// v1's plan: i = running, 1 token; [i,n] = running; [i,n,1,c] = new, c tokens found; [i,n,2,c] = resumed, likewise.
// v0's: i = decode; [i,n] = prefill; with caching [i,n,c], c = its standing number of cached tokens.
// Empty lists are left out, but for sch. Every CRC is zlib's CRC-32 over little-endian 32-bit numbers.
// Cost: O(batch + blocks held and free) a step.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/kv/allocator/paged_cached.h"
#include "sim/kv/v0/memory.h"
#include "sim/sched/scheduler.h"
#include "sim/study/conform/record.h"

namespace blockyard::study {

[[nodiscard]] std::uint32_t crc_of(const std::vector<std::uint32_t>& numbers);

class Recorder {
 public:
  explicit Recorder(const sched::Scheduler& scheduler) : scheduler_(&scheduler) {}
  Recorder(const Recorder&) = delete;
  Recorder& operator=(const Recorder&) = delete;
  virtual ~Recorder() = default;

  // Before the step in which it happens.
  void rejected(RequestId request);
  void aborted(RequestId request);
  // After schedule(); after complete(), which makes the step's line. It stands until the next step.
  void scheduled(std::int64_t step, const sched::Batch& batch);
  const Json& completed(const sched::StepOutcome& outcome);
  // After a plain_step() that took the whole step at once.
  const Json& took_plain_step(std::int64_t step);
  // Instead of scheduled(): the engine died.
  void died(std::int64_t step, std::string_view why);

  [[nodiscard]] Json end(bool stalled) const;
  // What a reader of a difference wants to see: who runs, who waits, what is free.
  [[nodiscard]] std::string state() const;

 protected:
  [[nodiscard]] const sched::Scheduler& scheduler() const { return *scheduler_; }
  struct Totals {
    std::int64_t finished = 0;
    std::int64_t rejected = 0;
    std::int64_t aborted = 0;
    std::int64_t scheduled_tokens = 0;
    std::int64_t preempted = 0;
    std::int64_t hit_tokens = 0;
  };
  [[nodiscard]] const Totals& totals() const { return totals_; }

 private:
  // The engine's part.
  [[nodiscard]] virtual Json plan_entry(const sched::PlanEntry& entry) = 0;
  [[nodiscard]] virtual std::int64_t tokens_of(const sched::PlanEntry& entry) const = 0;
  virtual void add_swaps(Json& /*line*/, const sched::Batch& /*batch*/) {}
  virtual void add_memory(Json& /*line*/, bool /*step_is_over*/) {}
  virtual void add_totals(Json& end) const = 0;
  [[nodiscard]] virtual std::vector<std::int64_t> queues() const = 0;
  [[nodiscard]] virtual std::int64_t free_blocks() const = 0;
  virtual void free_list(std::vector<std::uint32_t>& out) const = 0;
  [[nodiscard]] virtual const std::vector<std::uint32_t>& block_table(SequenceId id) const = 0;

  void begin_line(std::int64_t step);
  void add_state(bool step_is_over);
  [[nodiscard]] std::uint32_t tables_crc();

  const sched::Scheduler* scheduler_;
  std::vector<sched::PlanEntry> plan_;
  std::vector<RequestId> running_;
  std::vector<SequenceId> sequences_;
  std::vector<std::uint32_t> numbers_;
  Json line_;
  Json rejected_now_ = Json::array();
  Json aborted_now_ = Json::array();
  std::int64_t lines_ = 0;
  std::int64_t next_step_ = 0;
  Totals totals_;
  std::string error_;
};

class RecorderV1 final : public Recorder {
 public:
  RecorderV1(const sched::Scheduler& scheduler, const kv::PagedCached& memory, bool prefix_caching)
      : Recorder(scheduler), memory_(&memory), prefix_caching_(prefix_caching) {}

 private:
  Json plan_entry(const sched::PlanEntry& entry) override;
  [[nodiscard]] std::int64_t tokens_of(const sched::PlanEntry& entry) const override { return entry.fresh.count(); }
  void add_memory(Json& line, bool step_is_over) override;
  void add_totals(Json& end) const override;
  [[nodiscard]] std::vector<std::int64_t> queues() const override;
  [[nodiscard]] std::int64_t free_blocks() const override { return memory_->free_blocks().count(); }
  void free_list(std::vector<std::uint32_t>& out) const override { memory_->free_queue(out); }
  [[nodiscard]] const std::vector<std::uint32_t>& block_table(SequenceId id) const override {
    return memory_->block_table(id);
  }

  const kv::PagedCached* memory_;
  bool prefix_caching_;
  std::int64_t evictions_before_ = 0;
};

class RecorderV0 final : public Recorder {
 public:
  RecorderV0(const sched::Scheduler& scheduler, const kv::V0Memory& memory, bool host_pool)
      : Recorder(scheduler), memory_(&memory), host_pool_(host_pool) {}

 private:
  Json plan_entry(const sched::PlanEntry& entry) override;
  [[nodiscard]] std::int64_t tokens_of(const sched::PlanEntry& entry) const override {
    return (entry.fresh + entry.hit).count();
  }
  void add_swaps(Json& line, const sched::Batch& batch) override;
  void add_memory(Json& line, bool step_is_over) override;
  void add_totals(Json& end) const override;
  [[nodiscard]] std::vector<std::int64_t> queues() const override;
  [[nodiscard]] std::int64_t free_blocks() const override { return memory_->available(); }
  void free_list(std::vector<std::uint32_t>& out) const override { memory_->free_list(out); }
  [[nodiscard]] const std::vector<std::uint32_t>& block_table(SequenceId id) const override {
    return memory_->block_table(id);
  }

  const kv::V0Memory* memory_;
  bool host_pool_;
  std::int64_t ignored_ = 0;
  std::int64_t swap_outs_ = 0;
  std::int64_t swap_ins_ = 0;
};

}  // namespace blockyard::study
