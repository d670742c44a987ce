// A request that is running, was preempted, or has come to the head of the queue: what the scheduler keeps of it. Plain
// state, owned by SequenceTable. Names follow the engine: length = prompt + generated tokens; computed = tokens whose
// KV is computed, or planned in the running step. While a sequence is in a cohort (cohort.h) `computed` and
// `generated` are those at the time it joined.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/ids.h"
#include "sim/base/quantities.h"
#include "sim/kv/allocator/allocator.h"
#include "sim/workload/request.h"

namespace blockyard::sched {

struct Sequence {
  RequestId id{};
  workload::Request request;
  kv::SequenceNeed need;
  Tokens output;  // what it generates, after max_tokens and max_model_len have cut it
  Tokens generated;
  // Sequences of the request that run as one: they share the prompt, decode together, lose their memory together and
  // end together. Lengths are those of each.
  std::int64_t width = 1;
  bool admitted = false;  // at least once
  bool seated = false;    // in the running list
  // In a pipeline: batches under way that compute something of it, but for that of its cohort; preemptions so far. What
  // a batch brings a sequence that was preempted since is a token at most.
  std::int32_t under_way = 0;
  std::int32_t preemptions = 0;
  Tokens computed;
  Tokens highest;  // the largest `computed` before a preemption took it away: positions below are computed again
  SimTime last_token;
  SimTime preempted_at = kNever;  // kNever = nothing to regain
  SimTime waits_since;            // of a preempted one: when it last lost its seat
  SimTime stall_waiting;          // time without a seat in the present stall

  // What a preempted one still has of its KV: tokens [0, kept) on the GPU, [kept, saved) on the host if saved > kept.
  Tokens kept;
  Tokens saved;
  Blocks host_blocks;
  SimTime ready;  // when its last copy will have ended, if copies overlap steps: it computes nothing before

  std::uint64_t order = 0;  // position in the running list: ascending along the list
  SequenceId previous = SequenceId::none;
  SequenceId next = SequenceId::none;

  bool in_cohort = false;
  CohortId cohort{};             // which
  std::int64_t joined_step = 0;  // cohort steps when it joined
  std::int64_t joined_as = 0;    // which of all joins that was
  std::int64_t finish_step = 0;  // cohort steps when it finishes
  SequenceId wheel_previous = SequenceId::none;
  SequenceId wheel_next = SequenceId::none;

  [[nodiscard]] Tokens length() const { return request.prompt_tokens + generated; }
  // Tokens computed by going from position `from` to `to`: a position of the prompt is one, one beyond it one a
  // sequence.
  [[nodiscard]] Tokens work(Tokens from, Tokens to) const {
    if (width == 1 || to <= request.prompt_tokens) return to - from;
    const Tokens begin = std::max(from, request.prompt_tokens);
    return (begin - from) + width * (to - begin);
  }
  // Positions from `from` on that a budget pays for, at most `wanted`.
  [[nodiscard]] Tokens affordable(Tokens from, Tokens wanted, Tokens budget) const {
    if (width == 1 || wanted <= Tokens(0)) return std::min(wanted, budget);
    const Tokens prompt = std::max(Tokens(0), request.prompt_tokens - from);
    if (budget <= prompt) return std::min(wanted, budget);
    return std::min(wanted, prompt + Tokens((budget - prompt).count() / width));
  }
  [[nodiscard]] bool decodes_next() const { return generated > Tokens(0) && computed + Tokens(1) == length(); }
};

class SequenceTable {
 public:
  SequenceId add() {
    if (!unused_.empty()) {
      const SequenceId id = unused_.back();
      unused_.pop_back();
      rows_[index_of(id)] = Sequence{};
      return id;
    }
    rows_.emplace_back();
    return static_cast<SequenceId>(rows_.size() - 1);
  }
  void remove(SequenceId id) { unused_.push_back(id); }

  Sequence& operator[](SequenceId id) { return rows_[index_of(id)]; }
  const Sequence& operator[](SequenceId id) const { return rows_[index_of(id)]; }

 private:
  std::vector<Sequence> rows_;
  std::vector<SequenceId> unused_;
};

}  // namespace blockyard::sched
