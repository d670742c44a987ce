#include "sim/report/csv.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/report/lines.h"

namespace blockyard::report {
namespace {

using metrics::Outcome;
using metrics::RequestRecord;

// "1.5" -> 1'500'000'000, by hand, so that no double comes in between. No field -> kNever.
SimTime nanoseconds(const std::string& field) {
  if (field.empty()) return kNever;
  const std::size_t point = std::min(field.find('.'), field.size());
  std::string fraction = point < field.size() ? field.substr(point + 1) : "";
  REQUIRE((fraction.size() <= 9 && !fraction.ends_with('0')));
  fraction.resize(9, '0');
  return SimTime(std::stoll(field.substr(0, point)) * kNanosecondsPerSecond + std::stoll(fraction));
}

std::string text_of(const fmt::memory_buffer& buffer) { return {buffer.data(), buffer.size()}; }

std::string row_of(std::int64_t request, const RequestRecord& record, const metrics::TimeRow& time = {}) {
  fmt::memory_buffer buffer;
  append_request(buffer, request, record, time);
  return text_of(buffer);
}

// The columns of the time ledger, one a bucket, where nothing went into any.
std::string no_time(const char* field) {
  std::string columns;
  for (std::size_t i = 0; i < metrics::kTimeBuckets; ++i) columns += std::string(",") + field;
  return columns + ",0,\n";
}

TEST_CASE("times are whole nanoseconds as decimals of a second") {
  const auto text = [](std::int64_t ns) {
    fmt::memory_buffer buffer;
    append_seconds(buffer, SimTime(ns));
    return text_of(buffer);
  };
  CHECK(text(0) == "0");
  CHECK(text(1) == "0.000000001");
  CHECK(text(1'500'000'000) == "1.5");
  CHECK(text(123'000'000'000) == "123");
  CHECK(text(-1'250'000'000) == "-1.25");
  CHECK(text(INT64_MAX) == "9223372036.854775807");
  REQUIRE(rc::check("any time", [&] {
    const std::int64_t ns = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
    RC_ASSERT(nanoseconds(text(ns)) == SimTime(ns));
  }));
}

TEST_CASE("a finished request, worked out") {
  RequestRecord r;
  r.arrival = SimTime(10'000'000'000);
  r.admitted = SimTime(10'250'000'000);
  r.first_token = SimTime(11'000'000'000);
  r.ended = SimTime(11'600'000'000);
  r.stall = SimTime(50'000'000);
  r.prompt_tokens = 100;
  r.generated_tokens = 4;
  r.preemptions = 1;
  r.recomputed_tokens = 12;
  r.outcome = Outcome::finished;
  // tpot: 0.6 s for 3 gaps.
  metrics::TimeRow time;
  time[metrics::TimeBucket::step_boundary] = 250'000'000;
  time[metrics::TimeBucket::decode_own] = 1'300'000'001;
  time[metrics::TimeBucket::preempted_waiting] = 50'000'000;
  CHECK(row_of(3, r, time) ==
        "3,10,100,4,finished,,0.25,1,0.2,1.6,1,0.05,12,0,0.25,0,0,0,0,0,0,0,0,0,1.300000001,0,0,0,0.05,0,0,0,0,0,\n");
  CHECK(split(requests_header(), ',').size() == split(row_of(3, r), ',').size());
}

TEST_CASE("what did not happen is an empty field") {
  RequestRecord r;
  r.arrival = SimTime(2'000'000'000);
  r.prompt_tokens = 9;
  SECTION("rejected at its arrival") {
    r.ended = r.arrival;
    r.outcome = Outcome::rejected;
    r.reason = metrics::RejectReason::never_fits;
    CHECK(row_of(0, r) == "0,2,9,,rejected,never_fits,,,,,0,0,0" + no_time(""));
  }
  SECTION("its client left") {
    r.ended = SimTime(5'000'000'000);
    r.outcome = Outcome::timed_out;
    metrics::TimeRow time;
    time[metrics::TimeBucket::step_boundary] = 500'000'000;
    time[metrics::TimeBucket::queue_kv_memory_behind] = 2'500'000'000;
    CHECK(row_of(0, r, time) == "0,2,9,,timed_out,,,,,,0,0,0,0,0.5,0,0,0,0,0,2.5,0,0,0,0,0,0,0,0,0,0,0,0,0,\n");
  }
  SECTION("given up by the scheduler after it had waited") {
    r.ended = SimTime(5'000'000'000);
    r.outcome = Outcome::rejected;
    r.reason = metrics::RejectReason::ignored_by_engine;
    CHECK(row_of(0, r) == "0,2,9,,rejected,ignored_by_engine,,,,,0,0,0" + no_time("0"));
  }
  SECTION("running when the run was stopped") {
    r.admitted = SimTime(2'500'000'000);
    r.first_token = SimTime(3'000'000'000);
    CHECK(row_of(0, r) == "0,2,9,,unfinished,,0.5,1,,,0,0,0" + no_time(""));
  }
  SECTION("one output token has no TPOT") {
    r.admitted = r.arrival;
    r.first_token = r.ended = SimTime(3'000'000'000);
    r.generated_tokens = 1;
    r.outcome = Outcome::finished;
    CHECK(row_of(0, r) == "0,2,9,1,finished,,0,1,,1,0,0,0" + no_time("0"));
  }
}

RequestRecord random_record() {
  const auto span = [] { return SimTime(*rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000'000)); };
  RequestRecord r;
  r.outcome = *rc::gen::element(Outcome::unfinished, Outcome::finished, Outcome::rejected, Outcome::timed_out);
  r.arrival = span();
  r.prompt_tokens = *rc::gen::inRange(0, INT32_MAX);
  if (r.outcome == Outcome::rejected) {
    r.reason = *rc::gen::element(metrics::RejectReason::prompt_too_long, metrics::RejectReason::never_fits,
                                 metrics::RejectReason::queue_full);
    r.ended = r.arrival;
    return r;
  }
  if (r.outcome == Outcome::finished || *rc::gen::arbitrary<bool>()) r.admitted = r.arrival + span();
  if (r.outcome == Outcome::timed_out) r.ended = r.arrival + span();
  if (r.outcome == Outcome::finished) {
    r.first_token = r.admitted + span();
    r.generated_tokens = *rc::gen::inRange(1, 1'000'000);
    r.ended = r.generated_tokens == 1 ? r.first_token : r.first_token + span();
  }
  r.preemptions = *rc::gen::inRange(0, 100);
  r.stall = span();
  r.recomputed_tokens = *rc::gen::inRange(0, INT32_MAX);
  return r;
}

TEST_CASE("rows read back to the records exactly") {
  REQUIRE(rc::check("any record", [] {
    const RequestRecord r = random_record();
    const auto number = *rc::gen::inRange<std::int64_t>(0, INT64_MAX);
    const std::vector<std::string> field = split(lines_of(row_of(number, r)).at(0), ',');
    RC_ASSERT(field.size() == 15U + metrics::kTimeBuckets);
    RC_ASSERT(field[13U + metrics::kTimeBuckets] == std::to_string(r.tenant));
    const auto instant = [&](std::size_t i) {
      const SimTime after = nanoseconds(field[i]);
      return after == kNever ? kNever : r.arrival + after;
    };
    const bool finished = r.outcome == Outcome::finished;
    RC_ASSERT(std::stoll(field[0]) == number);
    RC_ASSERT(nanoseconds(field[1]) == r.arrival);
    RC_ASSERT(std::stoll(field[2]) == r.prompt_tokens);
    RC_ASSERT((field[3].empty() ? 0 : std::stoll(field[3])) == r.generated_tokens);
    RC_ASSERT(field[4] == metrics::name_of(r.outcome));
    RC_ASSERT(field[5] == metrics::name_of(r.reason));
    RC_ASSERT(instant(6) == r.admitted);
    RC_ASSERT(instant(7) == r.first_token);
    RC_ASSERT(field[8].empty() == !(finished && r.generated_tokens > 1));
    if (!field[8].empty()) {
      const auto decode_ns = static_cast<double>((r.ended - r.first_token).count());
      RC_ASSERT(std::strtod(field[8].c_str(), nullptr) == decode_ns / (r.generated_tokens - 1) / 1e9);
    }
    RC_ASSERT(instant(9) == (finished ? r.ended : kNever));
    RC_ASSERT(std::stoll(field[10]) == r.preemptions);
    RC_ASSERT(nanoseconds(field[11]) == r.stall);
    RC_ASSERT(std::stoll(field[12]) == r.recomputed_tokens);
  }));
}

TEST_CASE("a row of the time series gives every state in bytes, and they add up to the pool") {
  REQUIRE(rc::check("any partition", [] {
    metrics::TimeSeriesRow row;
    row.time = SimTime(*rc::gen::inRange<std::int64_t>(0, INT64_MAX));
    row.running = *rc::gen::inRange(0, 1000);
    row.waiting = *rc::gen::inRange(0, 1000);
    for (std::int64_t& slots : row.memory.slots) slots = *rc::gen::inRange(0, 1'000'000);
    row.largest_free_slots = *rc::gen::inRange(0, 1'000'000);
    row.output_tokens = *rc::gen::inRange(0, 1'000'000);
    row.computed_tokens = *rc::gen::inRange(0, 1'000'000);
    row.lasted = SimTime(*rc::gen::inRange<std::int64_t>(1, 1'000'000'000'000));
    row.copied_out = SimTime(*rc::gen::inRange<std::int64_t>(0, row.lasted.count() + 1));
    row.copied_in = row.lasted;
    const std::int64_t slot_bytes = *rc::gen::inRange(1, 1'000'000);

    fmt::memory_buffer buffer;
    append_time_series_header(buffer);
    append_time_series_row(buffer, row, slot_bytes);
    const std::vector<std::string> lines = lines_of(text_of(buffer));
    const std::vector<std::string> names = split(lines.at(0), ',');
    const std::vector<std::string> field = split(lines.at(1), ',');
    RC_ASSERT(names.size() == field.size());
    const auto of = [&](const std::string& name) {
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (names[i] == name) return field[i];
      }
      return std::string("no such column");
    };
    RC_ASSERT(nanoseconds(of("t_s")) == row.time);
    RC_ASSERT(std::stoll(of("running")) == row.running);
    RC_ASSERT(std::stoll(of("waiting")) == row.waiting);
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < kMemoryStates; ++i) {
      const std::int64_t bytes = std::stoll(of(std::string(kMemoryStateNames[i]) + "_bytes"));
      RC_ASSERT(bytes == row.memory.slots[i] * slot_bytes);
      sum += bytes;
    }
    RC_ASSERT(sum == row.memory.total() * slot_bytes);
    RC_ASSERT(std::stoll(of("largest_free_bytes")) == row.largest_free_slots * slot_bytes);
    RC_ASSERT(std::stoll(of("output_tokens")) == row.output_tokens);
    RC_ASSERT(std::stoll(of("computed_tokens")) == row.computed_tokens);
    const double out = to_seconds(row.copied_out) / to_seconds(row.lasted);
    RC_ASSERT(std::abs(std::stod(of("link_out_busy_share")) - out) <= 5.1e-6 * out);  // six digits
    RC_ASSERT(of("link_in_busy_share") == "1");
  }));
}

}  // namespace
}  // namespace blockyard::report
