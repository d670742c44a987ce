// The JSON Schema and the table of keys say what the validation does.
#include <regex.h>

#include <catch2/catch.hpp>

#include <string>

#include "sim/scenario/describe.h"
#include "tests/scenario/sample_schema.h"

using namespace blockyard::scenario;
using Json = nlohmann::ordered_json;

TEST_CASE("the JSON Schema carries kinds, limits, enumerations, defaults and meanings") {
  const Json json = json_schema(sample_schema());
  CHECK(json["$schema"] == "https://json-schema.org/draft/2020-12/schema");
  CHECK(json["type"] == "object");
  CHECK(json["additionalProperties"] == false);
  const Json& engine = json["properties"]["engine"];
  CHECK(engine["description"] == "the engine");
  CHECK(engine["additionalProperties"] == false);
  const Json& seats = engine["properties"]["max_num_seqs"];
  CHECK(seats["type"] == "integer");
  CHECK(seats["minimum"] == 1);
  CHECK(seats["default"] == 256);
  const Json& order = engine["properties"]["queue_order"];
  CHECK(order["enum"] == Json({"fcfs", "priority"}));
  CHECK(order["default"] == "fcfs");
  CHECK(order["description"] == "\nfcfs: first come\npriority: by priority");
  const Json& utilization = engine["properties"]["utilization"];
  CHECK(utilization["exclusiveMinimum"] == 0);
  CHECK(utilization["maximum"] == 1);
  CHECK(utilization["default"] == 0.9);
  CHECK(engine["properties"]["chunked"]["default"] == true);
  const Json& budget = json["properties"]["kv_cache"]["properties"]["budget"]["anyOf"];
  CHECK(budget.size() == 4);  // the word, and three quantities of which none may stand bare
  const Json& block_size = json["properties"]["kv_cache"]["properties"]["block_size"]["anyOf"];
  CHECK(block_size[0] == Json({{"type", "integer"}, {"minimum", 1}, {"maximum", 1024}}));
}

TEST_CASE("the JSON Schema requires what the validation requires") {
  const Json json = json_schema(sample_schema());
  CHECK_FALSE(json.contains("required"));
  const Json& source = json["properties"]["source"];
  CHECK_FALSE(source.contains("required"));
  CHECK(source["properties"]["file"]["required"] == Json({"path"}));
  CHECK(source["properties"]["drawn"]["required"] == Json({"count", "arrivals"}));
  CHECK(source["properties"]["drawn"]["properties"]["arrivals"]["required"] == Json({"rate"}));
  const Schema strict("strict", {{.path = "a.b.c", .accepts = {Kind::text}, .required_in = ""}});
  CHECK(json_schema(strict)["required"] == Json({"a"}));
  CHECK(json_schema(strict)["properties"]["a"]["required"] == Json({"b"}));
}

TEST_CASE("the patterns of quantities take what the reader takes") {
  const Json json = json_schema(sample_schema());
  const auto text_of_pattern = json["properties"]["slo"]["properties"]["ttft"]["pattern"].get<std::string>();
  regex_t pattern;  // std::regex draws a false warning from GCC 12 under sanitizers
  REQUIRE(regcomp(&pattern, text_of_pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0);
  for (const char* text :
       {"250 ms", "1s", "0.5 s", ".5 s", "1e3 us", "2 min", "5", "ms", "1 sec", "1 s s", "x 1 s", ""}) {
    INFO(text);
    CHECK((regexec(&pattern, text, 0, nullptr, 0) == 0) == read_value(text, Kind::time).value.has_value());
  }
  regfree(&pattern);
}

TEST_CASE("the table of keys has one row a key") {
  const std::string table = key_table(sample_schema());
  CHECK(table.rfind("| key | value | default | meaning |\n| --- | --- | --- | --- |\n"
                    "| `name` | a text | none | a name |\n"
                    "| `seed` | an integer | `1` |  |\n",
                    0) == 0);
  CHECK(table.find("| `source.drawn.count` | an integer | required in `source.drawn` |  |\n") != std::string::npos);
  CHECK(table.find("| `engine.queue_order` | fcfs or priority | `fcfs` |  |\n") != std::string::npos);
}
