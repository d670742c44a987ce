// How large a contiguous region a sequence gets.
//   max_model_len  every region holds the longest possible sequence (Orca Max)
//   max_tokens     the prompt and the declared output
//   pow2           the prompt and the output rounded up to a power of two, as a predictor off by less than twice would
//                  have it (Orca Pow2: 25 -> 32); not beyond max_model_len
//   oracle         exactly what will be written: prompt + output - 1 (Orca Oracle)
//   grow           the prompt and initial_tokens; doubled, into a new region, whenever it is full. A sequence that
//   comes
//                  back after a preemption starts with the first of these that holds what it had written and one more.
// Source: Kwon et al., SOSP 2023, sec. 3.1 and 6.1.
#pragma once

#include "sim/base/quantities.h"
#include "sim/kv/memory.h"

namespace blockyard::kv {

enum class ReservationRule { max_model_len, max_tokens, pow2, oracle, grow };

struct Reservation {
  ReservationRule rule = ReservationRule::max_model_len;
  Tokens max_model_len;
  Tokens initial_tokens;  // grow
  Tokens largest_region;  // grow: no doubling goes beyond what an empty arena gives

  // At admission of a sequence that has to have room for `least` tokens (grow; for the others that is no question).
  [[nodiscard]] Tokens first(const SequenceNeed& need, Tokens least) const;
  // grow: the next size at which a sequence that has `now` holds `least` tokens. Less than `least` if there is none.
  [[nodiscard]] Tokens next(Tokens now, Tokens least) const;
  // The largest that the sequence will ever get.
  [[nodiscard]] Tokens last(const SequenceNeed& need) const { return first(need, need.true_end); }
};

}  // namespace blockyard::kv
