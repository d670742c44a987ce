// Wrong input: every error with its place and remedy, all at once.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/scenario/sample_schema.h"

using namespace blockyard;
using namespace blockyard::scenario;

TEST_CASE("an unknown key names the nearest at its level") {
  CHECK(errors_in("kv_cache:\n  block_sise: 16\n") ==
        R"(chat.yaml:2:3: kv_cache.block_sise: unknown key; did you mean "block_size"?)");
  CHECK(errors_in("engin: {}\n") == R"(chat.yaml:1:1: engin: unknown key; did you mean "engine"?)");
  CHECK(errors_in("kv_cache: {colour: red}\n") ==
        "chat.yaml:1:12: kv_cache.colour: unknown key; expected one of block_size, budget");
}

TEST_CASE("a key known under another name, or elsewhere, is answered with its path") {
  CHECK(errors_in("engine: {num_gpu_blocks_override: 100}\n") ==
        "chat.yaml:1:10: engine.num_gpu_blocks_override: unknown key; here it is kv_cache.budget");
  CHECK(errors_in("--scheduling-policy: fcfs\n") ==
        "chat.yaml:1:1: --scheduling-policy: unknown key; here it is engine.queue_order");
  CHECK(errors_in("block_size: 16\n") == "chat.yaml:1:1: block_size: unknown key; here it is kv_cache.block_size");
  CHECK(errors_in("engine.chunked: true\n") ==
        "chat.yaml:1:1: engine.chunked: dotted names are for --set; here sections are nested");
}

TEST_CASE("a key given twice names the first") {
  CHECK(errors_in("seed: 1\nname: a\nseed: 2\n") == "chat.yaml:3:1: seed: given twice; first in line 1");
  CHECK(errors_in("engine: {max_num_seqs: 1}\nengine: {chunked: true}\n") ==
        "chat.yaml:2:1: engine: given twice; first in line 1");
  // Unknown twice: both are said.
  CHECK(errors_in("foo: 1\nfoo: 2\n") ==
        "chat.yaml:1:1: foo: unknown key; expected one of name, seed, engine, kv_cache, admission, slo, source\n"
        "chat.yaml:2:1: foo: given twice; first in line 1");
}

TEST_CASE("values of the wrong kind") {
  CHECK(errors_in("engine:\n  max_num_seqs: many\n") ==
        R"(chat.yaml:2:17: engine.max_num_seqs: expected an integer, found "many")");
  CHECK(errors_in("engine: {chunked: on}\n") ==
        R"(chat.yaml:1:19: engine.chunked: expected true or false, found "on")");
  CHECK(errors_in("seed: [1, 2]\n") == "chat.yaml:1:7: seed: expected an integer, found a list");
  CHECK(errors_in("seed: {a: 1}\n") == "chat.yaml:1:7: seed: expected an integer, found a section");
  CHECK(errors_in("seed:\n") == "chat.yaml:1:1: seed: no value; expected an integer");
  CHECK(errors_in("name: ''\n") == "chat.yaml:1:7: name: no value; expected a text");
  CHECK(errors_in("name: \"a\\x01b\"\n") ==
        R"(chat.yaml:1:7: name: expected a text, found "a\x01b" with a control character)");
  CHECK(errors_in("engine: {queue_order: prority}\n") ==
        R"(chat.yaml:1:23: engine.queue_order: expected fcfs or priority, found "prority"; did you mean "priority"?)");
  CHECK(errors_in("engine: {utilization: .nan}\n") ==
        "chat.yaml:1:23: engine.utilization: expected a number, found .nan; numbers are finite here");
  CHECK(errors_in("engine: {max_num_seqs: .inf}\n") ==
        "chat.yaml:1:24: engine.max_num_seqs: expected an integer, found .inf; numbers are finite here");
}

TEST_CASE("missing and wrong units name the right ones") {
  CHECK(errors_in("slo: {ttft: 1}\n") ==
        R"(chat.yaml:1:13: slo.ttft: "1" has no unit; expected a time in ns, us, ms, s, min, h or d, such as 250 ms)");
  CHECK(errors_in("slo: {ttft: 1 sec}\n") ==
        R"(chat.yaml:1:13: slo.ttft: unknown unit "sec" in "1 sec"; expected a time in ns, us, ms, s, min, h or d)");
  CHECK(errors_in("kv_cache: {budget: 60}\n") ==
        "chat.yaml:1:20: kv_cache.budget: expected auto, a number of blocks (30720 blocks), a number of tokens (8192 "
        "tokens) or a size (24 GiB), found \"60\", which has no unit; units: blocks, block, tokens, token, B, kB, MB, "
        "GB, "
        "TB, KiB, MiB, GiB or TiB");
  CHECK(
      errors_in("kv_cache: {budget: 60 Gib}\n") ==
      "chat.yaml:1:20: kv_cache.budget: expected auto, a number of blocks (30720 blocks), a number of tokens (8192 "
      "tokens) or a size (24 GiB), found \"60 Gib\"; units: blocks, block, tokens, token, B, kB, MB, GB, TB, KiB, MiB, "
      "GiB or TiB; did you mean \"GiB\"?");
}

TEST_CASE("values out of range") {
  CHECK(errors_in("engine: {max_num_seqs: 0}\n") ==
        R"(chat.yaml:1:24: engine.max_num_seqs: expected at least 1, found "0")");
  CHECK(errors_in("engine: {utilization: 0}\n") ==
        R"(chat.yaml:1:23: engine.utilization: expected more than 0 and at most 1, found "0")");
  CHECK(errors_in("kv_cache: {block_size: 2048}\n") ==
        R"(chat.yaml:1:24: kv_cache.block_size: expected 1 to 1024 tokens, found "2048")");
  CHECK(errors_in("slo: {ttft: 0 ms}\n") == R"(chat.yaml:1:13: slo.ttft: expected more than 0 s, found "0 ms")");
  CHECK(errors_in("admission: {watermark: 5}\n") ==
        R"(chat.yaml:1:24: admission.watermark: expected 0 to 1, found "5")");
  CHECK(errors_in("admission: {watermark: -1 blocks}\n") ==
        R"(chat.yaml:1:24: admission.watermark: expected at least 0 blocks, found "-1 blocks")");
}

TEST_CASE("a section that is none says so, and its keys are not missed besides") {
  CHECK(errors_in("engine: vllm\n") ==
        "chat.yaml:1:1: engine: expected a section with keys max_num_seqs, queue_order, chunked, utilization; found "
        "\"vllm\"");
  CHECK(errors_in("source: {drawn: [1]}\n") ==
        "chat.yaml:1:10: source.drawn: expected a section with keys count, arrivals; found a list");
  CHECK(errors_in("engine:\n") == "");
}

TEST_CASE("required keys are missed where their section is") {
  CHECK(errors_in("seed: 1\nsource:\n  drawn:\n") ==
        "chat.yaml:3:3: source.drawn.count: required but not given; expected an integer\n"
        "chat.yaml:3:3: source.drawn.arrivals.rate: required but not given; expected a rate (4 req/s)");
  CHECK(errors_in("source: {drawn: {count: 3, arrivals: {rate: 2 req/s}}}\n") == "");
  // Given but wrong is not missing.
  CHECK(errors_in("source: {drawn: {count: x, arrivals: {rate: 2 req/s}}}\n") ==
        R"(chat.yaml:1:25: source.drawn.count: expected an integer, found "x")");
  const Schema strict("strict", {{.path = "a.b", .accepts = {Kind::text}, .required_in = ""}});
  CHECK(errors_in("a: {}\n", strict) == "chat.yaml:1:1: a.b: required but not given; expected a text");
  const Schema top("top",
                   {{.path = "a", .accepts = {Kind::text}, .required_in = ""}, {.path = "b", .accepts = {Kind::text}}});
  CHECK(errors_in("b: x\n", top) == "chat.yaml: a: required but not given; expected a text");
  CHECK(errors_in("b: x\n", top, {"a=y"}) == "");
}

TEST_CASE("all errors come at once") {
  CHECK(errors_in("seed: -1\nengin: {}\nslo:\n  ttft: 5\nkv_cache: 7\n", {"engine.max_num_seqs=0", "slo.ttf=1 s"}) ==
        "chat.yaml:1:7: seed: expected at least 0, found \"-1\"\n"
        "chat.yaml:2:1: engin: unknown key; did you mean \"engine\"?\n"
        "chat.yaml:4:9: slo.ttft: \"5\" has no unit; expected a time in ns, us, ms, s, min, h or d, such as 250 ms\n"
        "chat.yaml:5:1: kv_cache: expected a section with keys block_size, budget; found \"7\"\n"
        "--set engine.max_num_seqs=0: engine.max_num_seqs: expected at least 1, found \"0\"\n"
        "--set slo.ttf=1 s: slo.ttf: unknown key; did you mean \"ttft\"?");
}

TEST_CASE("a --set goes through the same validation") {
  CHECK(errors_in("{}", {"engine.max_num_seqs=many"}) ==
        R"(--set engine.max_num_seqs=many: engine.max_num_seqs: expected an integer, found "many")");
  CHECK(errors_in("{}", {"engine.max_num_sequences=4"}) ==
        R"(--set engine.max_num_sequences=4: engine.max_num_sequences: unknown key; did you mean "max_num_seqs"?)");
  CHECK(errors_in("{}", {"num_gpu_blocks_override=4"}) ==
        "--set num_gpu_blocks_override=4: num_gpu_blocks_override: unknown key; here it is kv_cache.budget");
  CHECK(errors_in("{}", {"engine=vllm"}) ==
        "--set engine=vllm: engine: a section; set one of its keys: max_num_seqs, queue_order, chunked, utilization");
  CHECK(errors_in("{}", {"seed.low=1"}) == R"(--set seed.low=1: seed: a value, not a section; it has no key "low")");
  CHECK(errors_in("{}", {"seed"}) == "--set seed: expected key=value, such as engine.max_num_seqs=64");
  CHECK(errors_in("{}", {"=1"}) == "--set =1: expected key=value, such as engine.max_num_seqs=64");
  CHECK(errors_in("{}", {"seed="}) == "--set seed=: seed: no value; expected an integer");
  CHECK(errors_in("{}", {"seed=[1,2]"}) == "--set seed=[1,2]: seed: expected an integer, found a list");
  // Nothing hides an error of the file, not even a --set that replaces the value.
  CHECK(errors_in("seed: x\n", {"seed=3"}) == R"(chat.yaml:1:7: seed: expected an integer, found "x")");
}

TEST_CASE("files that are no YAML map") {
  const std::string keys = "name, seed, engine, kv_cache, admission, slo, source";
  CHECK(errors_in("") == "chat.yaml: empty; expected a sample with keys " + keys);
  CHECK(errors_in("# nothing but a comment\n") == "chat.yaml: empty; expected a sample with keys " + keys);
  CHECK(errors_in("hello") == "chat.yaml:1:1: expected a section with keys " + keys + "; found \"hello\"");
  CHECK(errors_in("- 1\n- 2\n") == "chat.yaml:1:1: expected a section with keys " + keys + "; found a list");
  CHECK(errors_in("seed: 1\n---\nseed: 2\n") ==
        "chat.yaml:2:1: expected one YAML document; what begins here is no part of it");
  CHECK(errors_in(",") == "chat.yaml:1:1: expected one YAML document; what begins here is no part of it");
  CHECK(errors_in("[a, b]: 1\n") == "chat.yaml:1:1: a key has to be a plain name; found a list");
  CHECK(errors_in("base: &b {seed: 1}\n<<: *b\n")
            .find("chat.yaml:2:1: <<: merge keys are not taken; write the keys out") != std::string::npos);
}

TEST_CASE("a syntax error is one error with its place") {
  CHECK(errors_in("seed: 1\nengine: {max_num_seqs: 4\nslo: [\n").rfind("chat.yaml:", 0) == 0);
  CHECK(errors_in("seed: *nowhere\n").rfind("chat.yaml:1:7: not valid YAML: ", 0) == 0);
  CHECK(errors_in("seed: 1\n\tname: x\n").rfind("chat.yaml:2:", 0) == 0);
  const std::string deep = errors_in("seed: " + std::string(100'000, '['));
  CHECK(deep.rfind("chat.yaml:1:", 0) == 0);
  CHECK(deep.find('\n') == std::string::npos);
  CHECK(errors_in(std::string("seed: 1\nname: a\0b\n", 18)) ==
        "chat.yaml:2:8: control character 0x00; expected plain text");
  // The library takes 0x04 for the end of the file.
  CHECK(errors_in("seed: 1\n\x04\nname: 3") == "chat.yaml:2:1: control character 0x04; expected plain text");
  CHECK(errors_in("name: \xff\n") == "chat.yaml:1:7: byte 0xff is not UTF-8 text");
  CHECK(errors_in("name: Zürich\n") == "");
}

TEST_CASE("files that are missing, folders, too long or empty") {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "blockyard_scenario_load_errors";
  std::filesystem::create_directories(folder);
  const auto error_of = [&](const std::filesystem::path& file) -> std::string {
    try {
      static_cast<void>(load(file, sample_schema()));
      return "";
    } catch (const InputError& error) {
      return error.what();
    }
  };
  CHECK(error_of(folder / "none.yaml") == (folder / "none.yaml").string() + ": no such file");
  CHECK(error_of(folder) == folder.string() + ": a folder; expected a YAML file");
  std::ofstream(folder / "long.yaml") << std::string((4U << 20) + 1, '#');
  CHECK(error_of(folder / "long.yaml") ==
        (folder / "long.yaml").string() + ": longer than 4194304 bytes; is this a YAML file?");
  std::ofstream(folder / "missing.yaml") << "source: {file: {path: day.csv}}\n";
  CHECK(error_of(folder / "missing.yaml") == (folder / "missing.yaml").string() +
                                                 ":1:23: source.file.path: no such file: \"" +
                                                 (folder / "day.csv").string() + "\"");
  std::ofstream(folder / "folder.yaml") << "source: {file: {path: .}}\n";
  CHECK(error_of(folder / "folder.yaml").find("expected a file, found the folder") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("a quote has to be closed") {
  const std::string kNotClosed = "not valid YAML: the quote that begins here is not closed";
  CHECK(errors_in("name: \"abc\nseed: 1\n") == "chat.yaml:1:7: " + kNotClosed);
  CHECK(errors_in("seed: 1\nname: 'abc\n") == "chat.yaml:2:7: " + kNotClosed);
  CHECK(errors_in("seed: 1\nname: 'it''s\n") == "chat.yaml:2:7: " + kNotClosed);
  const std::string kAtTheEnd = "not valid YAML: a quote is not closed before the text ends";
  CHECK(errors_in("seed: 1\nname: \"a\\\"") == "chat.yaml:2:11: " + kAtTheEnd);
  CHECK(errors_in("seed: 1\nname: &a 'abc") == "chat.yaml:2:14: " + kAtTheEnd);
  CHECK(errors_in("name: \xC3\xA9\nseed: '1\n") == "chat.yaml:2:7: " + kNotClosed);
  CHECK_THAT(errors_in("seed: 1\n", {"name='abc"}), Catch::Contains("not closed"));
  // Nor are those that are.
  for (const char* whole : {"name: \"a\\\"b\"\n", "name: 'it''s'", "name: it's \"so\"\n", "name: a # 'b\n",
                            "name: |\n  'b\n", "name: 'a\n  b'\n", "\xEF\xBB\xBFname: 'a'\n"}) {
    CHECK_THAT(errors_in(std::string(whole) + "\n"), !Catch::Contains("not closed"));
  }
}

TEST_CASE("an amount of the right form that is too large is told as such") {
  CHECK(errors_in("admission: {watermark: 1e308 blocks}\n") ==
        R"(chat.yaml:1:24: admission.watermark: "1e308 blocks" does not fit 64 bits)");
}

TEST_CASE("what YAML itself makes of a text is told") {
  CHECK_THAT(errors_in("seed: 1\n", {"name=%s"}),
             Catch::Contains("--set name=%s: a value that begins with % has to stand in quotes"));
  CHECK_THAT(errors_in("seed: " + std::string(5000, '[') + std::string(5000, ']')),
             Catch::Contains("nested too deeply"));
  CHECK_THROWS_WITH(load("", sample_schema(), {}), Catch::Contains("no name of a file"));
}

TEST_CASE("a section that is left out may hold anything, and counts as given") {
  const std::vector<std::string> sets{"kv_cache.block_size=0", "kv_cache.colour=red", "seed=3"};
  const Document left_out =
      parse("kv_cache: {budget: 5 m, colour: [red]}\n", "chat.yaml", sample_schema(), sets, {}, "kv_cache");
  CHECK(left_out.is_set("kv_cache"));
  CHECK_FALSE(left_out.is_set("kv_cache.budget"));
  CHECK(left_out.tokens("kv_cache.block_size") == Tokens(16));
  CHECK(left_out.integer("seed") == 3);
  CHECK(left_out.unused().empty());
  CHECK_FALSE(parse("seed: 1\n", "chat.yaml", sample_schema(), {}, {}, "kv_cache").is_set("kv_cache"));
  CHECK_THROWS_AS(parse("engin: {}\n", "chat.yaml", sample_schema(), {}, {}, "kv_cache"), InputError);
}
