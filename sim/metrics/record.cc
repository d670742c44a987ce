#include "sim/metrics/record.h"

namespace blockyard::metrics {

const char* name_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::unfinished:
      return "unfinished";
    case Outcome::finished:
      return "finished";
    case Outcome::rejected:
      return "rejected";
    case Outcome::timed_out:
      return "timed_out";
  }
  return "";
}

const char* name_of(RejectReason reason) {
  switch (reason) {
    case RejectReason::none:
      return "";
    case RejectReason::prompt_too_long:
      return "prompt_too_long";
    case RejectReason::never_fits:
      return "never_fits";
    case RejectReason::queue_full:
      return "queue_full";
    case RejectReason::ignored_by_engine:
      return "ignored_by_engine";
    case RejectReason::over_length:
      return "over_length";
    case RejectReason::rate_limited:
      return "rate_limited";
  }
  return "";
}

}  // namespace blockyard::metrics
