// One seat and steps of one duration make the engine a single server of which the theory knows everything: a request
// with L output tokens is served in L steps (the first token comes with its prompt), arrivals are Poisson, and a server
// that is idle begins at once. Waiting times are compared within a confidence interval from batch means.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

struct Estimate {
  double mean = 0;
  double half_width = 0;  // of a 99.9 % confidence interval
};

// Means of 40 batches of neighbours are nearly independent (batches are far longer than busy periods).
Estimate waiting_time(const metrics::Collector& collector) {
  constexpr std::size_t kBatches = 40;
  constexpr double kStudent = 3.56;  // t, 39 degrees of freedom, 0.05 % on each side
  const auto& records = collector.records();
  const std::size_t size = records.size() / kBatches;
  double sum = 0;
  double squares = 0;
  for (std::size_t b = 0; b < kBatches; ++b) {
    double batch = 0;
    for (std::size_t i = b * size; i < (b + 1) * size; ++i)
      batch += to_seconds(records[i].admitted - records[i].arrival);
    batch /= static_cast<double>(size);
    sum += batch;
    squares += batch * batch;
  }
  const double mean = sum / kBatches;
  const double variance = (squares - kBatches * mean * mean) / (kBatches - 1);
  return {mean, kStudent * std::sqrt(variance / kBatches)};
}

serving::RunResult single_server(double rate, const std::string& output_tokens, const Sets& more = {}) {
  Sets sets{"engine.max_num_seqs=1"};
  sets.insert(sets.end(), more.begin(), more.end());
  return run(fmt::format("name: single server\n"
                         "model: llama-3-8b\n"
                         "hardware: {{gpu: a100-80gb-sxm}}\n"
                         "cost: {{model: fixed, step: 10 ms}}\n"
                         "workload:\n"
                         "  generate:\n"
                         "    requests: 30000\n"
                         "    arrivals: {{process: poisson, rate: {:.6g} req/s}}\n"
                         "    prompt_tokens: {{distribution: constant, value: 1}}\n"
                         "    output_tokens: {}\n",
                         rate, output_tokens),
             sets);
}

}  // namespace

TEST_CASE("constant service: the waiting time of M/D/1") {
  // S = 10 steps of 10 ms. Pollaczek and Khinchine: W = rho S / (2 (1 - rho)).
  for (const double load : {0.3, 0.6, 0.8}) {
    const serving::RunResult result =
        single_server(load / 0.1, "{distribution: constant, value: 10}", {"engine.fast_forward=true"});
    const Estimate w = waiting_time(result.collector);
    const double expected = load * 0.1 / (2 * (1 - load));
    INFO("load " << load << ": " << w.mean << " +- " << w.half_width << " s, theory " << expected << " s");
    CHECK(std::abs(w.mean - expected) <= w.half_width);
    CHECK(w.half_width < 0.4 * expected);
    // All of it is charged to the seat, but for the rest of the step in which a request comes.
    const auto of = [&](metrics::TimeBucket bucket) {
      return result.summary.time.buckets[static_cast<std::size_t>(bucket)].mean_s;
    };
    CHECK(of(metrics::TimeBucket::step_boundary) + result.summary.time.groups[0].mean_s ==
          Approx(*result.summary.admission.mean_s).epsilon(1e-9));
    CHECK(of(metrics::TimeBucket::queue_kv_memory_head) + of(metrics::TimeBucket::queue_token_budget_head) == 0);
  }
}

TEST_CASE("geometric service: the waiting time of M/Geo/1, which is that of M/M/1 for short steps") {
  // Mean 10 steps of s = 10 ms, p = 1/10: E[S^2] = s^2 (2 - p) / p^2. W = rate E[S^2] / (2 (1 - rho)).
  for (const double load : {0.3, 0.6}) {
    const double rate = load / 0.1;
    const serving::RunResult result = single_server(rate, "{distribution: geometric, mean: 10}");
    const Estimate w = waiting_time(result.collector);
    const double expected = rate * 0.01 * 0.01 * (2 - 0.1) * 100 / (2 * (1 - load));
    const double exponential = load * 0.1 / (1 - load);
    INFO("load " << load << ": " << w.mean << " +- " << w.half_width << " s, theory " << expected << " s, M/M/1 "
                 << exponential << " s");
    CHECK(std::abs(w.mean - expected) <= w.half_width);
    CHECK(expected == Approx(exponential).epsilon(0.06));  // (2 - p) / 2 of it
  }
}

TEST_CASE("shortest job first waits less than first come, first served, and errors of prediction cost some of it") {
  // Cobham's formula for priority classes, one a length, in the order of their lengths: with r the residual work
  // rate E[S^2] / 2 and q(n) the load of lengths below n, class n waits r / ((1 - q(n)) (1 - q(n) - load of n)).
  const double load = 0.8;
  const double rate = load / 0.1;
  const double p = 0.1;
  const double residual = rate * 0.01 * 0.01 * (2 - p) / (p * p) / 2;
  double expected = 0;
  double below = 0;
  for (int n = 1; n < 2000; ++n) {
    const double share = p * std::pow(1 - p, n - 1);
    const double own = rate * share * n * 0.01;
    expected += share * residual / ((1 - below) * (1 - below - own));
    below += own;
  }
  const std::string lengths = "{distribution: geometric, mean: 10}";
  const Estimate w = waiting_time(single_server(rate, lengths, {"engine.queue_order=sjf"}).collector);
  INFO(w.mean << " +- " << w.half_width << " s, theory " << expected << " s");
  CHECK(std::abs(w.mean - expected) <= w.half_width);

  const auto mean_of = [&](const char* cv) {
    return waiting_time(single_server(rate, lengths, {"engine.queue_order=sjf", cv}).collector).mean;
  };
  const double fcfs = waiting_time(single_server(rate, lengths).collector).mean;
  const double blurred = mean_of("engine.length_prediction_cv=1");
  CHECK(w.mean < blurred);
  CHECK(blurred < fcfs);
}

TEST_CASE("Little's law to the nanosecond: the integral of those in the house is the sum of their stays") {
  // In integers: N changes by one at each arrival and each end.
  const serving::RunResult result = single_server(6, "{distribution: geometric, mean: 10}", {"engine.max_num_seqs=3"});
  std::map<std::int64_t, std::int64_t> changes;
  std::int64_t stays = 0;
  for (const metrics::RequestRecord& r : result.collector.records()) {
    REQUIRE(r.outcome == metrics::Outcome::finished);
    ++changes[r.arrival.count()];
    --changes[r.ended.count()];
    stays += (r.ended - r.arrival).count();
  }
  std::int64_t in_house = 0;
  std::int64_t integral = 0;
  std::int64_t last = 0;
  for (const auto& [time, change] : changes) {
    integral += in_house * (time - last);
    in_house += change;
    last = time;
  }
  CHECK(in_house == 0);
  CHECK(integral == stays);
  // What the run itself has integrated, step by step; a double holds it to about 1 ns in 10^13.
  const metrics::Summary& s = result.summary;
  const double told = (s.mean_running + s.mean_waiting) * s.makespan_s * 1e9;
  CHECK(told == Approx(static_cast<double>(stays)).epsilon(1e-12));
}
