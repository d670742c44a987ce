// Classes of limits in a scenario: who is of which, and what the report says of each.
#include <catch2/catch.hpp>

#include "tests/serving/laws.h"

using namespace blockyard;
using namespace blockyard::serving_tests;

namespace {

std::string errors_of(const std::string& yaml, const Sets& sets) {
  try {
    static_cast<void>(run(yaml, sets));
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

const Sets kClasses{"slo.ttft=1 s",
                    "slo.classes=[{name: fast, tenants: 1, ttft: 15 ms}, {name: slow, tenants: '2, 4-7', ttft: 1 h}]"};

}  // namespace

TEST_CASE("each class has its limits; what it does not say is that of all") {
  const TraceFile trace({{SimTime(0), 10, 3, ",1"},
                         {SimTime(0), 10, 3, ",2"},
                         {milliseconds(500), 10, 3, ",3"},
                         {milliseconds(504), 10, 3, ",1"}},
                        ",tenant");
  const serving::RunResult result = run(small_engine(trace), kClasses);
  const metrics::Summary& s = result.summary;
  REQUIRE(s.finished == 4);
  REQUIRE(s.slo_classes.size() == 3);
  CHECK(s.slo_classes[0].name == "(none)");
  CHECK(s.slo_classes[0].slo.ttft == milliseconds(1000));
  CHECK(s.slo_classes[0].good_requests == 1);
  // The second of tenant 1 comes 6 ms before the step that takes it in: 16 ms to its first token.
  CHECK(s.slo_classes[1].name == "fast");
  CHECK(s.slo_classes[1].arrived == 2);
  CHECK(s.slo_classes[1].good_requests == 1);
  CHECK(s.slo_classes[1].misses->limits[0].requests == 1);
  CHECK(s.slo_classes[2].good_requests == 1);
  CHECK(s.good_requests == 3);
  CHECK(s.tenants.count == 3);
  CHECK(s.tenants.tenants[0].name == "1");
  const nlohmann::ordered_json json = report::summary_json(s);
  CHECK(json["slo_classes"]["fast"]["goodput"]["slo"]["ttft_s"] == 0.015);
  CHECK(json["slo_classes"]["fast"]["goodput"]["good_share"] == 0.5);
  CHECK(json["tenants"]["figures"][0]["tenant"] == 1);
  CHECK(json["tenants"]["figures"][0]["share"]["requests"] == 0.5);
  const Files files = files_of(result);
  CHECK(files.requests.find(",tenant,slo_class\n") != std::string::npos);
  CHECK(files.requests.find(",1,fast\n") != std::string::npos);
  CHECK(files.requests.find(",3,\n") != std::string::npos);
}

TEST_CASE("what is wrong with classes") {
  const TraceFile trace({{SimTime(0), 10, 3, ""}});
  CHECK_THAT(
      errors_of(small_engine(trace), {"slo.classes=[{name: a b}, {name: c, tenants: 5-3}, {name: c}]"}),
      Catch::Contains("slo.classes[0].name: expected up to 64 letters, digits, - and _") &&
          Catch::Contains("slo.classes[1].tenants: expected numbers and ranges, such as \"1, 3-5\", found \"5-3\"") &&
          Catch::Contains("slo.classes[2].name: c is another's"));
  CHECK_THAT(errors_of(small_engine(trace), {"slo.classes=[{weight: 1}]"}),
             Catch::Contains("slo.classes[0].name: required but not given"));
  CHECK_THAT(
      errors_of(small_engine(trace), {"engine.queue_order=edf", "slo.classes=[{name: a, ttft: 1 s}, {name: b}]"}),
      Catch::Contains("edf needs slo.ttft, the deadline of a first token, or one for the class b"));
}

TEST_CASE("two classes cannot have one tenant or one category, of which the second would never see a request") {
  const TraceFile trace({{SimTime(0), 10, 3, ""}});
  CHECK_THAT(
      errors_of(small_engine(trace), {"slo.classes=[{name: a, tenants: \"1-4\"}, {name: b, tenants: \"0, 3-9\"}]"}),
      Catch::Contains("slo.classes[1].tenants: 3 is another class's"));
  CHECK_THAT(errors_of(small_engine(trace), {"slo.classes=[{name: a, category: x}, {name: b, category: x}]"}),
             Catch::Contains("slo.classes[1].category: x is another class's"));
  CHECK(run(small_engine(trace), {"slo.classes=[{name: a, tenants: \"1-4\"}, {name: b, tenants: \"0, 5-9\"}]"})
            .summary.finished == 1);
}

TEST_CASE("edf lets the impatient class go first") {
  // One seat. Tenant 2 comes first and waits behind the request of tenant 1 that comes after it.
  const TraceFile trace({{SimTime(0), 10, 3, ",2"}, {milliseconds(1), 10, 3, ",2"}, {milliseconds(2), 10, 3, ",1"}},
                        ",tenant");
  Sets sets = kClasses;
  sets.insert(sets.end(), {"engine.queue_order=edf", "engine.max_num_seqs=1"});
  const auto records = run(small_engine(trace), sets).collector.records();
  REQUIRE(records.size() == 3);
  CHECK(records[2].admitted < records[1].admitted);
}
