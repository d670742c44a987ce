// vLLM V0's budget of one step: tokens and seats. A request is charged at most once for each, and gives back only what
// it was charged. Cost O(1). Source: vLLM 0.6.6, SchedulingBudget.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/quantities.h"

namespace blockyard::sched {

class V0Budget {
 public:
  V0Budget(Tokens tokens, std::int64_t seats) : limit_(tokens), seats_(seats) {}

  void new_step() {
    ++step_;
    used_ = Tokens(0);
    seated_ = 0;
  }

  [[nodiscard]] Tokens left() const { return limit_ - used_; }
  [[nodiscard]] bool full() const { return seated_ >= seats_; }
  [[nodiscard]] bool fits(Tokens tokens) const { return used_ + tokens <= limit_ && seated_ + 1 <= seats_; }

  void add_tokens(SequenceId id, Tokens tokens) {
    Charge& charge = of(id);
    if (charge.tokens_in == step_) return;
    charge.tokens_in = step_;
    used_ += tokens;
  }
  void subtract_tokens(SequenceId id, Tokens tokens) {
    Charge& charge = of(id);
    if (charge.tokens_in != step_) return;
    charge.tokens_in = 0;
    used_ -= tokens;
  }
  void add_seat(SequenceId id) {
    Charge& charge = of(id);
    if (charge.seat_in == step_) return;
    charge.seat_in = step_;
    ++seated_;
  }
  void subtract_seat(SequenceId id) {
    Charge& charge = of(id);
    if (charge.seat_in != step_) return;
    charge.seat_in = 0;
    --seated_;
  }

 private:
  struct Charge {  // the steps of the latest charges
    std::uint64_t tokens_in = 0;
    std::uint64_t seat_in = 0;
  };
  Charge& of(SequenceId id) {
    if (index_of(id) >= charges_.size()) charges_.resize(index_of(id) + 1);
    return charges_[index_of(id)];
  }

  Tokens limit_;
  std::int64_t seats_;
  Tokens used_;
  std::int64_t seated_ = 0;
  std::uint64_t step_ = 0;
  std::vector<Charge> charges_;
};

}  // namespace blockyard::sched
