// How KV memory is handed out: the contract of every strategy. It speaks of sequences and tokens, never of requests.
//
// A sequence is admitted with its first tokens, grows, and is released. admit and grow are all or nothing: on no_space
// nothing has changed. Decoding sequences grow by one token a step, all together: between start_decoding and
// stop_decoding their written count follows from the number of grow_decoding calls, so that a decode step costs O(1)
// however many sequences decode. Where several batches are under way at once, those that decode form several cohorts,
// which grow by turns.
//
// Laws: partition().total() == capacity() after every call; nothing is held by two sequences; release gives back all
// that admit and grow took; the same calls give the same layout. Demand and availability are counted in grains, the
// smallest piece a strategy hands out (a block, a slot). Costs: every call O(1) unless the strategy says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/check.h"
#include "sim/base/ids.h"
#include "sim/base/memory_states.h"
#include "sim/base/quantities.h"
#include "sim/kv/memory.h"

namespace blockyard::kv {

enum class Grant { granted, no_space };

// A sequence that grows in a step beside the decoding ones.
struct Growth {
  SequenceId id = SequenceId::none;
  Tokens total;
};

class Allocator : public Memory {
 public:
  explicit Allocator(Tokens capacity) : capacity_(capacity) {}

  Grant admit(SequenceId id, const SequenceNeed& need, Tokens first);
  Grant grow(SequenceId id, Tokens total);
  void release(SequenceId id);
  // A sequence that does not decode gives back what it holds beyond its first `total` tokens, total > 0. On pages
  // alone.
  void shrink(SequenceId id, Tokens total);

  // The leading tokens of a sequence of `length` tokens, not admitted at the moment, whose KV is there already: its
  // next admit shares them, and counts them in `first`. They are full blocks, and never the last token. 0 without a
  // prefix cache.
  virtual Tokens find_prefix(SequenceId /*id*/, RequestId /*request*/, Tokens /*length*/) { return Tokens(0); }
  // Of the last find_prefix: what it found is not all on the GPU yet, so that the sequence, once admitted, has to wait.
  [[nodiscard]] virtual bool prefix_comes_later(SequenceId /*id*/) const { return false; }
  // Of a sequence admitted since: when all of it will be there.
  [[nodiscard]] virtual SimTime prefix_arrives(SequenceId /*id*/) const { return SimTime(0); }
  // For orders that ask of all who wait, of a sequence not admitted at the moment: how much of it find_prefix would
  // find on the GPU. O(forks of its chain) where nothing changed since the last call, else O(blocks found).
  virtual Tokens cached_prefix(SequenceId /*id*/, RequestId /*request*/, Tokens /*length*/) { return Tokens(0); }
  // Rises when an answer of cached_prefix to a sequence that was asked of and still waits may have changed.
  [[nodiscard]] virtual std::uint64_t prefix_changes() const { return 0; }
  // True if find_prefix, or the answer to an admit after it, may have changed since the sequence was refused last,
  // though nothing was released.
  [[nodiscard]] virtual bool admission_changed(SequenceId /*id*/) const { return false; }
  // A request waits to be admitted, and waits no more (it was admitted, or left): where an eviction policy looks at the
  // queue.
  virtual void expect(RequestId /*request*/) {}
  virtual void expect_no_more(RequestId /*request*/) {}
  // The sequence ends for good: what is remembered of its content may go.
  virtual void forget(SequenceId /*id*/) {}

  // Beam search: the beams that wrote since the last call choose whose past each goes on from; blocks that no beam
  // holds any more are free. To be called once a step, before it is planned. Gives the blocks freed.
  virtual Blocks choose_parents() { return Blocks(0); }

  // The cohort whose turn it is: start_decoding, grow_decoding and decode_demand speak of it. Without a turn there is
  // one cohort, which is all that strategies know that do not decode_by_turns().
  void turn(CohortId cohort);
  [[nodiscard]] virtual bool decodes_by_turns() const { return false; }

  void start_decoding(SequenceId id);
  void stop_decoding(SequenceId id);  // in whatever cohort it is
  // All decoding sequences grow by one token, and each of `others` (in order of admission, none of them decoding) to
  // its total.
  // Where order_decides(), it leaves the memory as growths one by one, in order of admission, would, or is refused.
  Grant grow_decoding(std::span<const Growth> others = {});

  // Grains that the next grow_decoding (of the decoding alone), a grow of one sequence to `total` tokens, or an admit
  // with `first` would take; and those there are.
  [[nodiscard]] virtual std::int64_t decode_demand() const = 0;
  [[nodiscard]] virtual std::int64_t demand(SequenceId id, Tokens total) const = 0;
  [[nodiscard]] virtual std::int64_t admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const = 0;
  // Grains that a sequence holds; blocks that it shares with others count in full.
  [[nodiscard]] virtual std::int64_t held_grains(SequenceId id) const { return written(id).count(); }
  [[nodiscard]] std::int64_t whole_demand(const SequenceNeed& need) const final {
    return admission_demand(SequenceId::none, need, need.true_end);
  }

  // True if demand and availability do not say all: a growth may be refused though its demand is available, and what
  // memory is like after several calls depends on their order.
  [[nodiscard]] virtual bool order_decides() const { return false; }

  // An admission was refused for its place, not for its size: free >= need > the largest free region. Set by a refused
  // admit, cleared by the next admit, by a release, and by clear_refusal() when the refused one leaves
  // the queue.
  [[nodiscard]] bool refused_although_free() const { return refused_although_free_; }
  void clear_refusal();

  [[nodiscard]] Tokens capacity() const final { return capacity_; }
  [[nodiscard]] Tokens written(SequenceId id) const;
  // Sum of what the sequences have written; a token shared by two counts twice.
  [[nodiscard]] Tokens total_written() const { return total_written_; }

 protected:
  // The strategy's part. `from` is what the sequence has written so far.
  virtual Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) = 0;
  virtual Grant do_grow(SequenceId id, Tokens from, Tokens to) = 0;
  virtual void do_release(SequenceId id, Tokens written) = 0;
  virtual void do_shrink(SequenceId id, Tokens from, Tokens to);
  virtual void do_start_decoding(SequenceId id, Tokens written) = 0;
  virtual void do_stop_decoding(SequenceId id, Tokens written) = 0;
  virtual Grant do_grow_decoding(std::span<const Growth> others) = 0;
  // From now on there are so many cohorts.
  virtual void set_cohorts(std::size_t /*cohorts*/) {}

  void set_refused_although_free() { refused_although_free_ = true; }
  // The cohort of the call in hand, and the growths of it so far.
  [[nodiscard]] CohortId cohort() const { return turn_; }
  [[nodiscard]] std::int64_t decode_steps() const { return cohorts_[index_of(turn_)].steps; }

 private:
  struct State {
    Tokens written;           // while decoding: at start_decoding
    std::int64_t since = -1;  // its cohort's steps at start_decoding, -1 = not decoding
    CohortId cohort{};
    bool open = false;
  };
  struct Cohort {
    std::int64_t steps = 0;
    std::int64_t members = 0;
  };

  State& state(SequenceId id);
  [[nodiscard]] Tokens written_now(const State& s) const {
    return s.since < 0 ? s.written : s.written + Tokens(cohorts_[index_of(s.cohort)].steps - s.since);
  }

  Tokens capacity_;
  Tokens total_written_;
  CohortId turn_{};
  std::vector<Cohort> cohorts_{1};
  bool refused_although_free_ = false;
  SequenceId refused_ = SequenceId::none;  // the last one so refused
  std::vector<State> states_;
};

}  // namespace blockyard::kv
