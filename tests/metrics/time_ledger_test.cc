// The time ledger by itself: what each kind of wait is charged to. That the buckets add up is a law that the ledger
// checks for every request; tests/serving runs it under every scheduler.
#include <catch2/catch.hpp>

#include "sim/metrics/time_ledger.h"

namespace blockyard::metrics {
namespace {

SimTime ms(std::int64_t n) { return SimTime(n * 1'000'000); }
RecordId id(std::uint32_t n) { return static_cast<RecordId>(n); }

// Steps one after the other, from 0 on.
struct Steps {
  TimeLedger ledger;
  SimTime now;
  SimTime next;

  void begin(SimTime lasts, SimTime decode_own, QueueCause cause = QueueCause::seat,
             std::optional<RecordId> head = {}) {
    ledger.step_begins(now, {lasts, decode_own, SimTime(0), cause, head});
    next = now + lasts;
  }
  void end() {
    ledger.step_ends();
    now = next;
  }
  TimeRow finish(RecordId request, SimTime arrival, SimTime stall = SimTime(0)) {
    RequestRecord r;
    r.arrival = arrival;
    r.ended = now;
    r.stall = stall;
    r.outcome = Outcome::finished;
    ledger.ended(request, r);
    return ledger.row(static_cast<std::size_t>(request));
  }
};

TEST_CASE("a request waits for the step in flight, as the head and behind it, and each step has its cause") {
  Steps s;
  s.ledger.keep_rows();
  s.ledger.queued(id(0));
  s.begin(ms(10), ms(0));
  s.ledger.admitted(id(0), s.now, ms(0));
  s.ledger.chunk(id(0), ms(9), ms(1));
  s.ledger.queued(id(1));  // both at 4 ms
  s.ledger.queued(id(2));
  s.end();
  s.ledger.first_token(id(0), s.now);
  s.begin(ms(7), ms(7), QueueCause::seat, id(1));
  s.end();
  s.begin(ms(5), ms(5), QueueCause::kv_memory, id(1));
  s.end();
  s.begin(ms(20), ms(6), QueueCause::token_budget, id(2));
  s.ledger.admitted(id(1), s.now, ms(4));
  s.ledger.chunk(id(1), ms(15), ms(0));
  s.end();
  s.ledger.first_token(id(1), s.now);

  const TimeRow first = s.finish(id(0), ms(0));
  CHECK(first[TimeBucket::prefill_own] == ms(9).count());
  CHECK(first[TimeBucket::prefill_overhead] == ms(1).count());
  CHECK(first[TimeBucket::decode_own] == ms(7 + 5 + 6).count());
  CHECK(first[TimeBucket::decode_interference] == ms(14).count());

  const TimeRow second = s.finish(id(1), ms(4));
  CHECK(second[TimeBucket::step_boundary] == ms(6).count());
  CHECK(second[TimeBucket::queue_seat_head] == ms(7).count());
  CHECK(second[TimeBucket::queue_kv_memory_head] == ms(5).count());
  CHECK(second[TimeBucket::queue_seat_behind] == 0);
  CHECK(second[TimeBucket::prefill_own] == ms(15).count());
  CHECK(second[TimeBucket::prefill_interference] == ms(5).count());

  s.begin(ms(1), ms(0));
  s.ledger.admitted(id(2), s.now, ms(4));
  s.ledger.chunk(id(2), ms(1), ms(0));
  s.end();
  s.ledger.first_token(id(2), s.now);
  const TimeRow third = s.finish(id(2), ms(4));
  CHECK(third[TimeBucket::queue_seat_behind] == ms(7).count());
  CHECK(third[TimeBucket::queue_kv_memory_behind] == ms(5).count());
  CHECK(third[TimeBucket::queue_token_budget_head] == ms(20).count());
}

TEST_CASE("a preempted request waits, computes again, and is skipped") {
  Steps s;
  s.ledger.keep_rows();
  s.ledger.queued(id(0));
  s.begin(ms(10), ms(0));
  s.ledger.admitted(id(0), s.now, ms(0));
  s.ledger.chunk(id(0), ms(10), ms(0));
  s.end();
  s.ledger.first_token(id(0), s.now);
  s.begin(ms(3), ms(2));  // given no token, although it decodes
  s.ledger.skipped(id(0));
  s.end();
  s.begin(ms(4), ms(4));  // preempted; its KV takes 1 ms to the host
  s.ledger.preempted(id(0), s.now, ms(1));
  s.end();
  s.begin(ms(6), ms(0));
  s.ledger.resumed(id(0), s.now, true);
  s.end();
  s.ledger.restored(id(0), s.now, true);
  s.begin(ms(2), ms(2));
  s.ledger.preempted(id(0), s.now, std::nullopt);
  s.end();
  s.begin(ms(8), ms(0));
  s.ledger.resumed(id(0), s.now, false);
  s.ledger.chunk(id(0), ms(8), ms(0));
  s.end();
  s.begin(ms(5), ms(0));
  s.ledger.skipped(id(0));
  s.end();
  s.ledger.restored(id(0), s.now, true);
  const TimeRow row = s.finish(id(0), ms(0), ms(4 + 6 + 2 + 8 + 5));
  CHECK(row[TimeBucket::skipped] == ms(3).count());
  CHECK(row[TimeBucket::preempted_swap_out] == ms(1).count());
  CHECK(row[TimeBucket::preempted_swap_in] == ms(6).count());
  CHECK(row[TimeBucket::preempted_waiting] == ms(3 + 2 + 5).count());
  CHECK(row[TimeBucket::preempted_recompute] == ms(8).count());
  CHECK(row[TimeBucket::decode_own] == 0);
  CHECK(s.ledger.summarise().groups[3].mean_s == 0.025);
}

}  // namespace
}  // namespace blockyard::metrics
