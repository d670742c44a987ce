// What is kept of every request, in arrival order: 72 bytes, so that a million of them are 72 MB.
#pragma once

#include <cstdint>

#include "sim/base/quantities.h"

namespace blockyard::metrics {

enum class RecordId : std::uint32_t {};

// unfinished: still waiting or running when the run ended.
enum class Outcome : std::uint8_t { unfinished, finished, rejected, timed_out };
[[nodiscard]] const char* name_of(Outcome outcome);

// Why a request was turned away at its arrival.
//   prompt_too_long  the prompt alone reaches max_model_len, so that no token could be generated
//   never_fits       the whole pool could not hold what it will write, or all seats its samples
//   ignored_by_engine  the scheduler dropped it, because it could never be admitted or come back
//   queue_full       admission.max_queue requests wait already
//   over_length      prompt + max_tokens exceed max_model_len, under admission.over_length: reject
//   rate_limited     its tenant's admission.rate_limit is used up
enum class RejectReason : std::uint8_t {
  none,
  prompt_too_long,
  never_fits,
  queue_full,
  ignored_by_engine,
  over_length,
  rate_limited
};
inline constexpr std::size_t kRejectReasons = 7;
[[nodiscard]] const char* name_of(RejectReason reason);  // "" for none

struct RequestRecord {
  SimTime arrival;
  SimTime admitted = kNever;     // first entry into the running batch
  SimTime first_token = kNever;  // first output token
  SimTime ended = kNever;        // last output token, rejection or time-out
  SimTime stall;                 // from each preemption until the computed length was regained
  SimTime stall_waiting;         // of that, without a seat; the rest is copying and computing again
  std::int32_t prompt_tokens = 0;
  std::int32_t generated_tokens = 0;  // by each of its samples
  std::int32_t preemptions = 0;
  std::int32_t recomputed_tokens = 0;  // positions computed again
  Outcome outcome = Outcome::unfinished;
  RejectReason reason = RejectReason::none;
  std::uint16_t samples : 9 = 1;    // sequences that it becomes after its prompt
  std::uint16_t slo_class : 7 = 0;  // from 1; 0 = none
  std::uint32_t tenant = 0;
};
static_assert(sizeof(RequestRecord) <= 72);

}  // namespace blockyard::metrics
