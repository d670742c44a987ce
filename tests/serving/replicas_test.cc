// Several replicas behind a router: each is a run of its own with the requests that it was sent, and routers keep their
// rules.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <sstream>

#include "sim/model/sizing.h"
#include "sim/serving/hardware.h"
#include "sim/serving/router.h"
#include "sim/serving/vllm_router.h"
#include "tests/serving/laws.h"
#include "tests/serving/random_scenario.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

const serving::RunControl kWithSeries{.go_on = {}, .time_series = true};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// A file that goes with the object.
class Csv {
 public:
  explicit Csv(const std::vector<std::string>& lines) {
    static int files = 0;
    path_ = std::filesystem::temp_directory_path() / fmt::format("blockyard-part-{}-{}.csv", ::getpid(), files++);
    std::ofstream(path_, std::ios::binary) << fmt::format("{}\n", fmt::join(lines, "\n"));
  }
  Csv(const Csv&) = delete;
  Csv& operator=(const Csv&) = delete;
  ~Csv() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

// The rows of requests.csv without their numbers, without arrivals, which begin at 0 with each trace, and without the
// column of the replica: what is left are spans of time and counts.
std::vector<std::string> bare_rows(const serving::RunResult& result) {
  std::vector<std::string> rows = split(requests_csv(result.collector), '\n');
  rows.erase(rows.begin());
  for (std::string& row : rows) {
    for (int column = 0; column < 2; ++column) row.erase(0, row.find(',') + 1);
    if (result.collector.several_replicas()) row.erase(row.rfind(','));
  }
  return rows;
}

// What a session has said before is what it has said to any replica: without sessions each request stands for itself.
std::vector<std::string> without_sessions(const std::string& csv) {
  std::vector<std::string> lines = split(csv, '\n');
  const std::vector<std::string> names = split(lines.front(), ',');
  const auto session = static_cast<std::size_t>(std::ranges::find(names, "session") - names.begin());
  if (session == names.size()) return lines;
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::vector<std::string> fields = split(lines[i], ',');
    fields[session] = "0";
    lines[i] = fmt::format("{}", fmt::join(fields, ","));
  }
  return lines;
}

}  // namespace

TEST_CASE("each of several replicas takes the steps of a run of its own with the requests it was sent") {
  REQUIRE(rc::check([] {
    const RandomScenario scenario = random_scenario();
    RC_PRE(static_cast<bool>(scenario.trace));
    const std::int64_t replicas = *rc::gen::inRange<std::int64_t>(2, 5);
    // What is drawn for a request goes by its number, which is another one in a run of its own; times that are scaled
    // are rounded.
    const Sets sets{"hardware.data_parallel_size=1", "engine.length_prediction_cv=0",
                    "prefix_cache.eviction=lru",     "workload.decoding=sample",
                    "workload.trace.rate_scale=1",   "workload.max_tokens.rule=recorded"};
    std::string yaml = scenario.yaml;
    if (const std::size_t classes = yaml.find(", classes: ["); classes != std::string::npos)
      yaml.erase(classes, yaml.find(']', classes) + 1 - classes);
    const bool experts =
        scenario.yaml.find("mixtral") != std::string::npos || scenario.yaml.find("gpt-oss") != std::string::npos;
    RC_PRE(!experts);
    const std::vector<std::string> lines = without_sessions(text_of(scenario.trace->path()));
    const auto run_with = [&](const Csv& csv, std::int64_t n) {
      Sets all = sets;
      all.front() = fmt::format("hardware.data_parallel_size={}", n);
      all.push_back("workload.trace.file=" + csv.path());
      return run(yaml, all, kWithSeries);
    };
    RC_LOG() << scenario.yaml;
    const Csv all(lines);
    const serving::RunResult together = run_with(all, replicas);
    RC_PRE(together.summary.stuck.empty());
    const std::vector<std::string> rows = bare_rows(together);
    // Samples that are requests of their own have rows of their own.
    RC_PRE(rows.size() + 1 == lines.size());
    for (std::int64_t replica = 0; replica < replicas; ++replica) {
      std::vector<std::string> part{lines.front()};
      std::vector<std::string> expected;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        if (together.collector.replica_of(static_cast<metrics::RecordId>(i)) != replica) continue;
        part.push_back(lines[i + 1]);
        expected.push_back(rows[i]);
      }
      if (expected.empty()) continue;
      const Csv csv(part);
      RC_ASSERT(bare_rows(run_with(csv, 1)) == expected);
    }
  }));
}

TEST_CASE("round robin deals requests out in turn") {
  std::vector<Row> rows;
  for (std::int64_t i = 0; i < 11; ++i) rows.push_back({milliseconds(3 * i), 10 + i, 5, ""});
  const TraceFile trace(rows);
  const serving::RunResult result =
      run(small_engine(trace), {"hardware.data_parallel_size=3", "engine.router=round_robin"});
  for (std::size_t i = 0; i < rows.size(); ++i) {
    CHECK(result.collector.replica_of(static_cast<metrics::RecordId>(i)) == i % 3);
  }
  CHECK(result.summary.identity.gpus == 3);
}

TEST_CASE("no replica has fewer unfinished requests than the one that least_outstanding names") {
  REQUIRE(rc::check([] {
    const auto replicas = *rc::gen::inRange<std::size_t>(1, 9);
    const auto router = serving::make_router("least_outstanding", replicas);
    std::vector<serving::ReplicaLoad> loads(replicas);
    for (int i = 0; i < 30; ++i) {
      for (serving::ReplicaLoad& load : loads) {
        load = {*rc::gen::inRange<std::int64_t>(0, 4), *rc::gen::inRange<std::int64_t>(0, 4)};
      }
      const std::int64_t least = std::ranges::min(loads, {}, &serving::ReplicaLoad::unfinished).unfinished();
      RC_ASSERT(loads[router->route(loads)].unfinished() == least);
    }
  }));
}

TEST_CASE("idle replicas take turns under least_outstanding") {
  const auto router = serving::make_router("least_outstanding", 3);
  const std::vector<serving::ReplicaLoad> idle(3);
  for (const std::size_t expected : {0U, 1U, 2U, 0U}) CHECK(router->route(idle) == expected);
}

TEST_CASE("every router names a replica that there is") {
  REQUIRE(rc::check([] {
    const auto replicas = *rc::gen::inRange<std::size_t>(1, 20);
    for (const NameDoc& name : serving::routers()) {
      const auto router = serving::make_router(name.name, replicas);
      std::vector<serving::ReplicaLoad> loads(replicas);
      for (int i = 0; i < 20; ++i) {
        loads[*rc::gen::inRange<std::size_t>(0, replicas)] = {*rc::gen::inRange<std::int64_t>(0, 9),
                                                              *rc::gen::inRange<std::int64_t>(0, 9)};
        if (i % 5 == 0) router->published(loads);
        RC_ASSERT(router->route(loads) < replicas);
      }
    }
  }));
}

TEST_CASE("vLLM's router weighs a waiting request as four running ones, and adds what it has sent") {
  serving::VllmRouter router(3);
  const std::vector<serving::ReplicaLoad> unseen{{9, 9}, {9, 9}, {9, 9}};
  // Nothing published: it fills ranks in turn, as each request it sends weighs four.
  for (const std::size_t expected : {0U, 1U, 2U, 0U}) CHECK(router.route(unseen) == expected);
  // 0: 4, 1: 5, 2: 3; then 2 has 7, 0 has 8, and 1 is the least.
  router.published(std::vector<serving::ReplicaLoad>{{1, 0}, {0, 5}, {0, 3}});
  for (const std::size_t expected : {2U, 0U, 1U, 2U}) CHECK(router.route(unseen) == expected);
}

TEST_CASE("between publications vLLM's router does not see that a replica has finished") {
  // Steps of 10 ms. Three requests at 0, 1 and 2 ms go to 0, 1 and, as both weigh four, to 0 again. The one of replica
  // 1 ends at 11 ms; those of replica 0 run to 1 s. At 30 ms replica 1 is idle, yet the counts are those sent, 8 and 4:
  // the next two go to 1 and, with 8 and 8, to 0. At 100 ms counts come: 3 running in replica 0, none in replica 1,
  // which finished its second one at 40 ms: the one of 101 ms goes to 1.
  const TraceFile trace({{milliseconds(0), 8, 100, ""},
                         {milliseconds(1), 8, 1, ""},
                         {milliseconds(2), 8, 100, ""},
                         {milliseconds(30), 8, 1, ""},
                         {milliseconds(31), 8, 100, ""},
                         {milliseconds(101), 8, 1, ""}});
  const serving::RunResult result = run(small_engine(trace), {"hardware.data_parallel_size=2"});
  const std::vector<std::size_t> expected{0, 1, 0, 1, 0, 1};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(result.collector.replica_of(static_cast<metrics::RecordId>(i)) == expected[i]);
  }
}

TEST_CASE("a publication makes vLLM's router forget what came during the step") {
  // Of those that come at 95 and 96 ms replica 1 and then, as both weigh four, replica 0 has one. At 100 ms the steps
  // that they are in have not ended, and those before left both replicas idle: so the last one finds 0 as empty as 1,
  // which had been sent fewer.
  const TraceFile trace({{milliseconds(0), 8, 1, ""},
                         {milliseconds(95), 8, 5, ""},
                         {milliseconds(96), 8, 5, ""},
                         {milliseconds(101), 8, 5, ""}});
  const serving::RunResult result = run(small_engine(trace), {"hardware.data_parallel_size=2"});
  const std::vector<std::size_t> expected{0, 1, 0, 0};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CHECK(result.collector.replica_of(static_cast<metrics::RecordId>(i)) == expected[i]);
  }
}

TEST_CASE("two replicas are as busy as their steps") {
  // Steps of 10 ms: the first request has 4 steps from 0 on, the second, in replica 1, 2 from 5 ms on.
  const TraceFile trace({{milliseconds(0), 8, 4, ""}, {milliseconds(5), 8, 2, ""}});
  const serving::RunResult result = run(small_engine(trace), {"hardware.data_parallel_size=2"});
  const auto& replicas = result.summary.replicas;
  REQUIRE(replicas.size() == 2);
  CHECK(result.summary.makespan_s == Approx(0.04));
  CHECK(replicas[0].busy_s == Approx(0.04));
  CHECK(replicas[1].busy_s == Approx(0.02));
  CHECK(replicas[1].idle_s == Approx(0.02));
  CHECK(replicas[0].steps == 4);
  CHECK(replicas[1].steps == 2);
  CHECK(result.summary.max_running == 2);
}

TEST_CASE("what several replicas cannot do is refused with a place") {
  const TraceFile trace({{milliseconds(0), 8, 4, ""}});
  const auto why = [&](Sets sets) {
    sets.insert(sets.begin(), "hardware.data_parallel_size=2");
    try {
      (void)run(small_engine(trace), sets);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(why({"output.memory_events=true"}).find("output.memory_events: memory.csv tells of one pool") !=
        std::string::npos);
  CHECK(why({"prefix_cache.enable=true", "prefix_cache.eviction=opt"}).find("prefix_cache.eviction: opt") !=
        std::string::npos);
}

namespace {

// Of two replicas that share experts.
std::string mixture(const TraceFile& trace) {
  std::string yaml = small_engine(trace);
  yaml.replace(yaml.find("llama-3-8b"), 10, "mixtral-8x7b");
  return yaml + "kv_cache: {budget: 1000 blocks}\n";
}

}  // namespace

TEST_CASE("replicas that share experts take their steps together") {
  // Steps of 10 ms from 0 on: who arrives at 5 ms in the other replica is planned at 10 ms; a dense model's at once. It
  // has 2 tokens, at 20 and 30 ms; the first 4, until 40 ms.
  const TraceFile trace({{milliseconds(0), 8, 4, ""}, {milliseconds(5), 8, 2, ""}});
  const serving::RunResult result = run(mixture(trace), {"hardware.data_parallel_size=2"});
  const auto& records = result.collector.records();
  CHECK(result.collector.replica_of(metrics::RecordId{1}) == 1);
  CHECK(records[1].admitted == milliseconds(10));
  CHECK(records[1].first_token == milliseconds(20));
  CHECK(records[1].ended == milliseconds(30));
  CHECK(records[0].ended == milliseconds(40));
  const auto& replicas = result.summary.replicas;
  CHECK(replicas[0].busy_s == Approx(0.04));
  CHECK(replicas[1].busy_s == Approx(0.02));
  CHECK(replicas[1].idle_steps_s == Approx(0.02));
  CHECK(replicas[1].idle_s == Approx(0).margin(1e-12));
  CHECK(result.summary.steps == 6);
}

TEST_CASE("a replica alone among idle ones that share its experts takes the steps of the cost model") {
  const TraceFile trace({{milliseconds(0), 700, 30, ""}});
  std::string yaml = mixture(trace);
  yaml.erase(yaml.find("cost: "), yaml.find("output: ") - yaml.find("cost: "));
  const scenario::Document document = parsed(yaml, {"hardware.data_parallel_size=4"});
  const serving::Assembly assembly = serving::assemble(document, config_folder());
  SimTime expected;
  for (std::int64_t token = 0; token < 30; ++token) {
    cost::StepWork work;
    if (token == 0) {
      assembly.cost->add_chunk(work, Tokens(700), Tokens(0));
    } else {
      work.decode_sequences = 1;
      work.decode_kv_tokens = work.decode_longest = 700 + token;
    }
    work.sampled_sequences = 1;
    expected += assembly.cost->step(work);
  }
  const serving::RunResult result = serving::run(document, config_folder());
  CHECK(result.collector.records()[0].ended == expected);
  CHECK(result.summary.identity.gpus == 4);
}

TEST_CASE("replicas that share experts have room for the KV that a mixture leaves them") {
  const TraceFile trace({{milliseconds(0), 8, 4, ""}});
  std::string yaml = mixture(trace);
  yaml.erase(yaml.find("kv_cache: "));
  // Mixtral's 93 GB do not fit on 80; four of them leave 12 experts' worth of room each.
  CHECK_THROWS_AS(run(yaml), InputError);
  const serving::RunResult result = run(yaml, {"hardware.data_parallel_size=4"});
  CHECK(result.summary.finished == 1);
  model::SizeOptions size;
  size.dp = 4;
  size.max_model_len = Tokens(32768);
  const scenario::Document document = parsed(yaml, {"hardware.data_parallel_size=4"});
  const model::Sizing sizing = model::size_of(serving::load_model(document, config_folder()),
                                              serving::load_gpu(document, config_folder()).spec, size);
  CHECK(result.summary.capacity == Bytes(4 * (sizing.kv_blocks.count() - 1) * 16 * sizing.bytes_per_token.count()));
}

TEST_CASE("what replicas that share experts cannot do is refused with a place") {
  const TraceFile trace({{milliseconds(0), 8, 4, ""}});
  const auto why = [&](Sets sets) {
    try {
      (void)run(mixture(trace), sets);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(why({"hardware.data_parallel_size=2", "hardware.pipeline_parallel_size=2"})
            .find("hardware.pipeline_parallel_size: expected 1") != std::string::npos);
  CHECK(why({"hardware.data_parallel_size=3"}).find("do not divide the 14336 columns") != std::string::npos);
  CHECK(why({"hardware.data_parallel_size=3", "hardware.enable_expert_parallel=true"}).empty());
}
