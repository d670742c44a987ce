// Sessions and classes against their closed forms.
#include "sim/workload/sessions.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "sim/workload/list_source.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

constexpr double kSure = 4.5;

LengthSpec lengths(const char* distribution, std::int64_t low, std::int64_t high) {
  LengthSpec spec;
  spec.distribution = distribution;
  spec.value = spec.low = Tokens(low);
  spec.high = Tokens(high);
  return spec;
}

GeneratorSpec chat(std::int64_t requests) {
  GeneratorSpec spec;
  spec.requests = requests;
  spec.arrivals.rate_per_s = 2;
  spec.prompt_tokens = lengths("uniform", 50, 150);
  spec.output_tokens = lengths("uniform", 10, 30);
  spec.seed = 11;
  spec.sessions.emplace();
  spec.sessions->turns = 4;
  spec.sessions->delay = to_time(20);
  return spec;
}

std::vector<Request> generate(const GeneratorSpec& spec) {
  const auto source = make_generator(spec);
  return read_all(*source);
}

std::map<std::uint32_t, std::vector<Request>> by_session(const std::vector<Request>& requests) {
  std::map<std::uint32_t, std::vector<Request>> sessions;
  for (const Request& request : requests) sessions[request.session].push_back(request);
  return sessions;
}

// Leaves out the sessions that begin in the last stretch, which the number of requests may have cut off.
std::vector<std::vector<Request>> whole_sessions(const std::vector<Request>& requests, double stretch_s) {
  std::vector<std::vector<Request>> whole;
  for (const auto& [name, turns] : by_session(requests)) {
    if (to_seconds(requests.back().arrival - turns.front().arrival) > stretch_s) whole.push_back(turns);
  }
  return whole;
}

TEST_CASE("a prompt is all that its session has said, and something new") {
  const std::vector<Request> requests = generate(chat(20'000));
  REQUIRE(requests.size() == 20'000);
  CHECK(requests.front().arrival == SimTime(0));
  CHECK(std::ranges::is_sorted(requests, {}, &Request::arrival));
  for (const auto& [name, turns] : by_session(requests)) {
    REQUIRE(name > 0);
    CHECK(turns.front().delay == kAtArrival);
    for (std::size_t k = 1; k < turns.size(); ++k) {
      const Tokens fresh = turns[k].prompt_tokens - turns[k - 1].prompt_tokens - turns[k - 1].output_tokens;
      REQUIRE((fresh >= Tokens(50) && fresh <= Tokens(150)));
      REQUIRE(turns[k].arrival == turns[k - 1].arrival + turns[k].delay);
    }
  }
}

TEST_CASE("turns are geometric with their mean, delays exponential with theirs") {
  const std::vector<std::vector<Request>> sessions = whole_sessions(generate(chat(200'000)), 2000);
  const double n = static_cast<double>(sessions.size());
  double turns = 0;
  double squares = 0;
  double delays = 0;
  double delay_squares = 0;
  double later = 0;
  double longer = 0;
  for (const auto& session : sessions) {
    const auto k = static_cast<double>(session.size());
    turns += k;
    squares += k * k;
    for (std::size_t i = 1; i < session.size(); ++i) {
      const double d = to_seconds(session[i].delay);
      delays += d;
      delay_squares += d * d;
      longer += d > 60 ? 1 : 0;
      ++later;
    }
  }
  // Mean 4, variance 4 x 3 = 12.
  CHECK(std::abs(turns / n - 4) <= kSure * std::sqrt(12 / n));
  CHECK(squares / n - (turns / n) * (turns / n) == Approx(12).epsilon(0.05));
  CHECK(std::abs(delays / later - 20) <= kSure * 20 / std::sqrt(later));
  CHECK(std::sqrt(delay_squares / later - 400) / 20 == Approx(1).epsilon(0.03));
  const double tail = std::exp(-3);
  CHECK(std::abs(longer / later - tail) <= kSure * std::sqrt(tail * (1 - tail) / later));
}

TEST_CASE("sessions begin by the arrival process") {
  GeneratorSpec spec = chat(10'000);
  spec.arrivals.process = "constant";
  spec.sessions->geometric = false;
  std::int64_t k = 0;
  for (const auto& [name, turns] : by_session(generate(spec))) {
    REQUIRE(turns.front().arrival == SimTime(500'000'000 * k));
    REQUIRE(turns.size() <= 4);
    ++k;
  }
  CHECK(k > 2500);
}

TEST_CASE("a session of one turn is a request; a session that outgrows its context ends") {
  GeneratorSpec spec = chat(1000);
  spec.sessions->turns = 1;
  CHECK(by_session(generate(spec)).size() == 1000);
  spec.sessions->turns = 100;
  spec.sessions->max_context = Tokens(600);
  for (const Request& r : generate(spec)) REQUIRE(r.prompt_tokens + r.output_tokens <= Tokens(600));
}

TEST_CASE("an agent: a long first prompt, then short results of its tools") {
  GeneratorSpec spec = chat(5000);
  spec.prompt_tokens = lengths("constant", 9000, 0);
  spec.sessions->next_tokens = lengths("constant", 40, 0);
  for (const auto& [name, turns] : by_session(generate(spec))) {
    CHECK(turns.front().prompt_tokens == Tokens(9000));
    if (turns.size() < 2) continue;
    CHECK(turns[1].prompt_tokens == Tokens(9040) + turns[0].output_tokens);
  }
}

TEST_CASE("pieces of any size give the same sessions") {
  const GeneratorSpec spec = chat(700);
  const std::vector<Request> whole = generate(spec);
  const auto again = make_generator(spec);
  Request one;
  for (const Request& expected : whole) {
    REQUIRE(again->read(std::span(&one, 1)) == 1);
    REQUIRE(one.arrival == expected.arrival);
    REQUIRE(one.prompt_tokens == expected.prompt_tokens);
    REQUIRE(one.session == expected.session);
  }
  CHECK(again->read(std::span(&one, 1)) == 0);
}

TEST_CASE("classes: tenants by weight, each with its priority, the same in all turns of a session") {
  GeneratorSpec spec = chat(60'000);
  if (GENERATE(false, true)) spec.sessions.reset();
  spec.classes = {{3, 0}, {1, 10}};
  std::map<std::uint32_t, std::uint32_t> tenant_of;
  std::int64_t second = 0;
  std::int64_t all = 0;
  for (const Request& r : generate(spec)) {
    REQUIRE((r.tenant == 1 || r.tenant == 2));
    REQUIRE(r.priority == (r.tenant == 1 ? 0 : 10));
    if (r.session != 0 && !tenant_of.emplace(r.session, r.tenant).second) {
      REQUIRE(tenant_of[r.session] == r.tenant);
      continue;
    }
    ++all;
    second += r.tenant == 2 ? 1 : 0;
  }
  const double share = static_cast<double>(second) / static_cast<double>(all);
  CHECK(std::abs(share - 0.25) <= kSure * std::sqrt(0.25 * 0.75 / static_cast<double>(all)));
}

TEST_CASE("lengths of a trace: its rows, prompt and output together, and its mean") {
  const TraceFolder folder;
  folder.write("three.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,7\n1,200,90\n2,600,11\n");
  GeneratorSpec spec = chat(30'000);
  spec.sessions.reset();
  spec.lengths = JointLengthSpec{.file = folder.path("three.csv"), .from_trace = true};
  double prompts = 0;
  for (const Request& r : generate(spec)) {
    const std::pair row(r.prompt_tokens.count(), r.output_tokens.count());
    REQUIRE((row == std::pair<std::int64_t, std::int64_t>{100, 7} ||
             row == std::pair<std::int64_t, std::int64_t>{200, 90} ||
             row == std::pair<std::int64_t, std::int64_t>{600, 11}));
    prompts += static_cast<double>(row.first);
  }
  // Mean 300, standard deviation sqrt((200^2 + 100^2 + 300^2) / 3) = 216.
  CHECK(std::abs(prompts / 30'000 - 300) <= kSure * 216 / std::sqrt(30'000));
}

TEST_CASE("what is wrong with sessions and classes is told") {
  GeneratorSpec spec = chat(10);
  spec.sessions->turns = 0.5;
  spec.sessions->delay_cv = -1;
  spec.sessions->max_context = Tokens(1);
  spec.classes = {{0, 1}, {std::nan(""), 1}};
  CHECK_THROWS_WITH(make_generator(spec),
                    "sessions: turns: found 0.5, expected 1 to 1000000\n"
                    "sessions: delay_cv: found -1, expected 0 to 30\n"
                    "sessions: max_context: found 1, expected 2 tokens or more\n"
                    "classes: class 1: weight: found 0, expected above 0, up to 1e9\n"
                    "classes: class 2: weight: found nan, expected above 0, up to 1e9");
}

}  // namespace
}  // namespace blockyard::workload
