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

TEST_CASE("where the time of clients that left went is kept apart") {
  Steps s;
  s.ledger.keep_rows();
  s.ledger.queued(id(0));
  s.begin(ms(10), ms(0));
  s.ledger.admitted(id(0), s.now, ms(0));
  s.ledger.queued(id(1));  // at 4 ms
  s.ledger.queued(id(2));
  s.end();
  s.ledger.first_token(id(0), s.now);
  s.begin(ms(7), ms(7), QueueCause::seat, id(1));
  s.end();
  s.begin(ms(5), ms(5), QueueCause::kv_memory, id(1));
  s.end();
  for (const std::uint32_t n : {1U, 2U}) {
    RequestRecord left;
    left.arrival = ms(4);
    left.ended = s.now;
    left.outcome = Outcome::timed_out;
    s.ledger.ended(id(n), left);
  }
  CHECK(s.ledger.row(1)[TimeBucket::queue_kv_memory_head] == ms(5).count());
  CHECK(s.ledger.row(2)[TimeBucket::queue_kv_memory_behind] == ms(5).count());
  const TimeUses left = s.ledger.of_timed_out();
  CHECK(left.requests == 2);
  CHECK(left[TimeBucket::step_boundary].mean_s == 0.006);
  CHECK(left[TimeBucket::queue_seat_head].mean_s == 0.0035);
  CHECK(left.groups[0].mean_s == 0.012);
  CHECK(left.groups[0].share == Approx(12.0 / 18));
  CHECK(s.ledger.of_finished().requests == 0);
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
  CHECK(s.ledger.of_finished().groups[3].mean_s == 0.025);
}

TEST_CASE("in a pipeline a cohort's members are charged as each by itself would be") {
  // Two stages. Batches of requests 0 and 1 pass from 0 to 20, 20 to 45 and 45 to 70 ms; request 0 stands in a cohort
  // from its first token on, request 1 by itself. At 50 ms both are preempted, their batch under way.
  TimeLedger ledger;
  ledger.keep_rows();
  ledger.charge_by_batch();
  for (const RecordId request : {id(0), id(1)}) ledger.queued(request);
  ledger.step_begins(ms(0), {});
  for (const RecordId request : {id(0), id(1)}) {
    ledger.admitted(request, ms(0), ms(0));
    ledger.worked(request, ms(0), ms(20), ms(9), ms(1));
    ledger.first_token(request, ms(20));
  }
  const CohortId cohort{3};
  ledger.joins(id(0), ms(20), cohort);
  ledger.step_begins(ms(20), {});
  ledger.decodes_by_itself(id(1));
  ledger.cohort_worked(cohort, ms(20), ms(45), ms(14), ms(2));
  ledger.worked(id(1), ms(20), ms(45), ms(14), ms(2));
  ledger.step_begins(ms(45), {});
  for (const RecordId request : {id(0), id(1)}) ledger.preempted(request, ms(50), std::nullopt);
  ledger.cohort_worked(cohort, ms(45), ms(70), ms(14), ms(2));
  ledger.worked(id(1), ms(45), ms(70), ms(14), ms(2));
  for (const std::uint32_t n : {0U, 1U}) {
    RequestRecord r;
    r.ended = ms(70);
    r.outcome = Outcome::finished;
    r.stall = ms(20);
    ledger.ended(id(n), r);
    const TimeRow row = ledger.row(n);
    CHECK(row[TimeBucket::prefill_own] == ms(9).count());
    CHECK(row[TimeBucket::prefill_overhead] == ms(1).count());
    CHECK(row[TimeBucket::prefill_interference] == ms(10).count());
    CHECK(row[TimeBucket::decode_own] == ms(14).count());
    CHECK(row[TimeBucket::decode_overhead] == ms(2).count());
    CHECK(row[TimeBucket::decode_interference] == ms(9 + 5).count());
    CHECK(row[TimeBucket::preempted_waiting] == ms(20).count());
  }
}

}  // namespace
}  // namespace blockyard::metrics
