// What happened to whom, in the order of time, for events.csv: who headed the waiting line and what kept it out, who
// was admitted, preempted for whom, resumed, restored, and how each ended, and in which replica. Kept only when asked
// for: 24 bytes an event, of which there are about four a request. Law: times never go back.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/base/queue_cause.h"
#include "sim/metrics/record.h"

namespace blockyard::metrics {

//   head                    heads the waiting line from now on, kept out by the cause; of no request: nobody waits
//   admitted                first entry into the batch
//   resumed, swapped_in     back in the batch: to compute again what it lost, or with its KV
//   preempted, swapped_out  loses its memory, to be computed again, or to the host; for `other`
//   restored                has regained the length it had
//   finished                its last token
//   abandoned, ignored      its client left; the engine dropped it
enum class EventKind : std::uint8_t {
  head,
  admitted,
  resumed,
  swapped_in,
  preempted,
  swapped_out,
  restored,
  finished,
  abandoned,
  ignored
};
inline constexpr std::array<const char*, 10> kEventKindNames{"head",      "admitted",    "resumed",  "swapped_in",
                                                             "preempted", "swapped_out", "restored", "finished",
                                                             "abandoned", "ignored"};

struct Event {
  SimTime time;
  RecordId request = nobody();
  RecordId other = nobody();
  EventKind kind = EventKind::head;
  QueueCause cause = QueueCause::seat;  // of head
  std::uint16_t replica = 0;            // where it happened

  static constexpr RecordId nobody() { return RecordId{UINT32_MAX}; }
};

static_assert(sizeof(Event) == 24);

class EventLog {
 public:
  static constexpr std::size_t kMost = 20'000'000;  // 480 MB; those beyond are only counted

  void add(const Event& event) {
    if (events_.size() < kMost) {
      events_.push_back(event);
    } else {
      ++left_out_;
    }
  }
  [[nodiscard]] const std::vector<Event>& events() const { return events_; }
  [[nodiscard]] std::int64_t left_out() const { return left_out_; }

 private:
  std::vector<Event> events_;
  std::int64_t left_out_ = 0;
};

}  // namespace blockyard::metrics
