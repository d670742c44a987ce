#include "sim/kv/allocator/reservation.h"

#include <algorithm>
#include <bit>

namespace blockyard::kv {

Tokens Reservation::first(const SequenceNeed& need, Tokens least) const {
  // Neither a declaration nor a prediction reaches beyond the model's limit, whose last token is never computed.
  const auto up_to = [&](Tokens end) { return std::max(need.true_end, std::min(end, max_model_len - Tokens(1))); };
  switch (rule) {
    case ReservationRule::max_model_len:
      return max_model_len;
    case ReservationRule::max_tokens:
      return up_to(need.declared_end);
    case ReservationRule::pow2: {
      const auto output = static_cast<std::uint64_t>((need.true_end - need.prompt).count()) + 1;
      return up_to(need.prompt + Tokens(static_cast<std::int64_t>(std::bit_ceil(output)) - 1));
    }
    case ReservationRule::oracle:
      return need.true_end;
    case ReservationRule::grow:
      return next(need.prompt + initial_tokens, least);
  }
  return need.true_end;
}

Tokens Reservation::next(Tokens now, Tokens least) const {
  const Tokens limit = std::min(max_model_len - Tokens(1), largest_region);
  while (now < least && now < limit) now += now;
  return std::min(now, limit);
}

}  // namespace blockyard::kv
