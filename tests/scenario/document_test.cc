// What a valid file gives: typed values, defaults, places, and what nothing has read.
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/scenario/sample_schema.h"

using namespace blockyard;
using namespace blockyard::scenario;

TEST_CASE("values come typed, defaults filled in") {
  const Document doc = read("name: chat\nengine: {max_num_seqs: 64, chunked: false}\nkv_cache: {budget: 60 GiB}\n");
  CHECK(doc.text("name") == "chat");
  CHECK(doc.integer("seed") == 1);
  CHECK(doc.integer("engine.max_num_seqs") == 64);
  CHECK_FALSE(doc.boolean("engine.chunked"));
  CHECK(doc.choice("engine.queue_order") == "fcfs");
  CHECK(doc.real("engine.utilization") == 0.9);
  CHECK(doc.tokens("kv_cache.block_size") == Tokens(16));
  CHECK(doc.bytes("kv_cache.budget") == Bytes(60LL << 30));
  CHECK(doc.is_word("admission.watermark", "engine"));

  CHECK(doc.has("slo.ttft"));
  CHECK_FALSE(doc.has("slo.ttfb"));
  CHECK(doc.is_set("engine"));
  CHECK(doc.is_set("engine.chunked"));
  CHECK_FALSE(doc.is_set("engine.utilization"));
  CHECK_FALSE(doc.is_set("slo"));
  CHECK(doc.has_value("engine.utilization"));
  CHECK_FALSE(doc.has_value("slo.ttft"));
}

TEST_CASE("a union tells which of its kinds was given") {
  CHECK(read("{}").is_word("kv_cache.budget", "auto"));
  CHECK(read("kv_cache: {budget: 30720 blocks}").blocks("kv_cache.budget") == Blocks(30720));
  CHECK(read("kv_cache: {budget: 491520 tokens}").tokens("kv_cache.budget") == Tokens(491520));
  CHECK(read("kv_cache: {budget: 60 GB}").kind("kv_cache.budget") == Kind::bytes);
  CHECK(read("admission: {watermark: 0.01}").real("admission.watermark") == 0.01);
  CHECK(read("admission: {watermark: 1 blocks}").blocks("admission.watermark") == Blocks(1));
}

TEST_CASE("a --set wins over the file, the last over those before, and makes absent sections") {
  const std::vector<std::string> sets{"seed=7", "slo.ttft=250 ms", "seed=8", "name='a=b'"};
  const Document doc = read("seed: 3\n", sets);
  CHECK(doc.integer("seed") == 8);
  CHECK(doc.time("slo.ttft") == SimTime(250'000'000));
  CHECK(doc.text("name") == "a=b");
  CHECK(doc.is_set("slo"));
  CHECK(to_string(doc.place("slo.ttft")) == "--set slo.ttft=250 ms");
}

TEST_CASE("places: the value's, else the nearest section's, else the file") {
  const Document doc = read("seed: 3\nengine:\n  max_num_seqs: 4\n");
  CHECK(to_string(doc.place("engine.max_num_seqs")) == "chat.yaml:3:17");
  CHECK(to_string(doc.place("engine.chunked")) == "chat.yaml:2:1");
  CHECK(to_string(doc.place("engine")) == "chat.yaml:2:1");
  CHECK(to_string(doc.place("slo.ttft")) == "chat.yaml");
}

TEST_CASE("exactly one of several") {
  constexpr std::array<std::string_view, 2> kSources{"source.file", "source.drawn"};
  const auto errors = [&](std::string_view text) {
    const Document doc = read(text);
    Diagnostics diagnostics;
    doc.expect_one_of(kSources, diagnostics);
    return diagnostics.empty() ? "" : InputError(diagnostics.list()).what() + std::string();
  };
  CHECK(errors("source:\n  drawn: {count: 1, arrivals: {rate: 1 req/s}}\n") == "");
  CHECK(errors("seed: 1\nsource: {}\n") ==
        "chat.yaml:2:1: exactly one of these has to be given: source.file, source.drawn");
  CHECK(errors("source:\n  drawn: {count: 1, arrivals: {rate: 1 req/s}}\n  file: {path: /dev/null}\n") ==
        "chat.yaml:2:3: source.drawn: given beside source.file, of which only one can hold");
}

TEST_CASE("keys that were given and never read are told") {
  const Document doc = read("seed: 3\nengine: {max_num_seqs: 4, chunked: true}\nkv_cache: {block_size: 8}\n");
  CHECK(doc.unused() ==
        std::vector<std::string>{"seed", "engine.max_num_seqs", "engine.chunked", "kv_cache.block_size"});
  static_cast<void>(doc.integer("seed"));
  static_cast<void>(doc.kind("kv_cache.block_size"));
  CHECK(doc.unused() == std::vector<std::string>{"engine.max_num_seqs", "engine.chunked"});
}

TEST_CASE("YAML aliases share sections") {
  const Schema schema("lengths", {{.path = "a.mean", .accepts = {{Kind::real, above(0)}}, .required_in = "a"},
                                  {.path = "b.mean", .accepts = {{Kind::real, above(0)}}, .required_in = "b"}});
  const Document doc = parse("a: &l {mean: 512}\nb: *l\n", "chat.yaml", schema);
  CHECK(doc.real("b.mean") == 512.0);
}

TEST_CASE("relative paths start at the file that holds them") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "blockyard_scenario_paths";
  std::filesystem::create_directories(folder / "configs");
  std::ofstream(folder / "day.csv") << "x\n";
  std::ofstream(folder / "configs" / "a.yaml") << "source: {file: {path: ../day.csv}}\n";
  const Document doc = load(folder / "configs" / "a.yaml", sample_schema());
  CHECK(doc.file("source.file.path") == folder / "day.csv");
  const std::vector<std::string> sets{"source.file.path=" + (folder / "configs" / "a.yaml").string()};
  CHECK(load(folder / "configs" / "a.yaml", sample_schema(), sets).file("source.file.path") ==
        folder / "configs" / "a.yaml");
  std::filesystem::remove_all(folder);
}

TEST_CASE("a name or a file: names are names, paths are files, and a slip is no missing file") {
  const Schema schema(
      "x",
      {{.path = "model", .accepts = {Kind::file}, .words = {{"llama-3-8b", ""}, {"opt-13b", ""}}, .required_in = ""}});
  CHECK(parse("model: opt-13b", "chat.yaml", schema).choice("model") == "opt-13b");
  CHECK(parse("model: /dev/null", "chat.yaml", schema).is("model", Kind::file));
  CHECK(errors_in("model: lama-3-8b", schema) ==
        "chat.yaml:1:8: model: expected llama-3-8b, opt-13b or the path of a file, found \"lama-3-8b\"; did you mean "
        "\"llama-3-8b\"?");
  CHECK(errors_in("model: my/model.yaml", schema) == "chat.yaml:1:8: model: no such file: \"my/model.yaml\"");
  CHECK(errors_in("model: mine.json", schema) == "chat.yaml:1:8: model: no such file: \"mine.json\"");
}

TEST_CASE("garbage is an error or a document, never a crash") {
  const std::vector<std::string> pieces{
      "seed",  "engine", "kv_cache", ": ",   ":", "\n",           "  ",     "- ",   "{",   "}",
      "[",     "]",      "&a ",      "*a",   "'", "\"",           "|\n",    ">\n",  "? ",  "!!str ",
      "%YAML", "---\n",  "...\n",    "\t",   "#", "12",           "~",      "<<: ", "\\x", "\\ud800",
      ",",     "@",      "`",        "\r\n", "é", "max_num_seqs", "budget", ".nan"};
  REQUIRE(rc::check([&] {
    const auto chosen = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, pieces.size()));
    std::string text;
    for (const std::size_t piece : chosen) text += pieces[piece];
    static_cast<void>(errors_in(text, {text}));
  }));
  REQUIRE(rc::check([](const std::string& text) { static_cast<void>(errors_in(text, {"seed=" + text})); }));
}

namespace {

Schema schema_with_list() {
  const Schema item("client", {{.path = "share", .accepts = {{Kind::real, above(0)}}, .required_in = ""},
                               {.path = "count", .accepts = {{Kind::integer, at_least(1)}}, .fallback = "1"},
                               {.path = "arrivals.rate", .accepts = {{Kind::rate, above(0)}}},
                               {.path = "data", .accepts = {Kind::path}}});
  return {"scenario",
          {{.path = "seed", .accepts = {Kind::integer}, .fallback = "1"},
           {.path = "workload.clients", .items = std::make_shared<const Schema>(item)}}};
}

}  // namespace

TEST_CASE("a list: each item is a document of its own") {
  const Document doc = parse(
      "workload:\n  clients:\n    - share: 3\n      arrivals: {rate: 2 req/s}\n    - {share: 1, count: 4, data: "
      "/tmp}\n",
      "chat.yaml", schema_with_list());
  CHECK(doc.is_set("workload"));
  CHECK(doc.is_set("workload.clients"));
  const std::vector<Document>& clients = doc.items("workload.clients");
  REQUIRE(clients.size() == 2);
  CHECK(clients[0].real("share") == 3);
  CHECK(clients[0].integer("count") == 1);
  CHECK(clients[0].rate("arrivals.rate") == 2);
  CHECK(clients[1].integer("count") == 4);
  CHECK(to_string(clients[1].place("arrivals")) == "chat.yaml:5:7");
  CHECK(doc.unused() == std::vector<std::string>{"workload.clients[1].share", "workload.clients[1].data"});
  CHECK(clients[1].file("data") == "/tmp");
  CHECK(parse("seed: 2\n", "chat.yaml", schema_with_list()).items("workload.clients").empty());
}

TEST_CASE("an assignment reaches into a list") {
  const std::string text = "workload: {clients: [{share: 3}, {share: 1}]}\n";
  const Document doc =
      parse(text, "chat.yaml", schema_with_list(),
            std::vector<std::string>{"workload.clients[1].share=5", "workload.clients[0].arrivals.rate=4 req/s"});
  CHECK(doc.items("workload.clients")[1].real("share") == 5);
  CHECK(doc.items("workload.clients")[0].rate("arrivals.rate") == 4);
  const std::vector<std::string> whole{"workload.clients=[{share: 7}]"};
  CHECK(parse(text, "chat.yaml", schema_with_list(), whole).items("workload.clients").front().real("share") == 7);
  CHECK(errors_in(text, schema_with_list(), {"workload.clients[2].share=5"}) ==
        "--set workload.clients[2].share=5: \"workload.clients[2].share\": it has 2 items; expected "
        "workload.clients[0].KEY, the first counted as 0");
  CHECK(errors_in(text, schema_with_list(), {"workload.clients[1].shar=5"}) ==
        "--set workload.clients[1].shar=5: workload.clients[1].shar: unknown key; did you mean \"share\"?");
  CHECK(errors_in(text, schema_with_list(), {"seed[0].x=5"}) ==
        "--set seed[0].x=5: \"seed[0].x\": it has 0 items; expected seed[0].KEY, the first counted as 0");
}

TEST_CASE("a list is of bounded length") {
  std::string many = "workload: {clients: [";
  for (int i = 0; i <= 10'000; ++i) many += "{share: 1}, ";
  CHECK(errors_in(many + "]}", schema_with_list()) ==
        "chat.yaml:1:21: workload.clients: a list of 10001 items; expected 10000 at most");
}

TEST_CASE("what is wrong with a list, by its path from the top") {
  CHECK(errors_in("workload:\n  clients:\n    - {share: 0, shares: 2}\n    - 7\n    - {count: 2}\n",
                  schema_with_list()) ==
        "chat.yaml:3:15: workload.clients[0].share: expected more than 0, found \"0\"\n"
        "chat.yaml:3:18: workload.clients[0].shares: unknown key; did you mean \"share\"?\n"
        "chat.yaml:4:7: workload.clients[1]: expected a section with keys share, count, arrivals, data; found \"7\"\n"
        "chat.yaml:5:7: workload.clients[2].share: required but not given; expected a number");
  CHECK(
      errors_in("workload: {clients: []}\n", schema_with_list()) ==
      "chat.yaml:1:21: workload.clients: expected a list of sections with keys share, count, arrivals, data; found an "
      "empty list");
  CHECK(errors_in("workload: {clients: {share: 2}}\n", schema_with_list()) ==
        "chat.yaml:1:21: workload.clients: expected a list of sections with keys share, count, arrivals, data; found a "
        "section");
}
