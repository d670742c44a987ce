// blockyard cache: its JSON, its screen, and wrong usage.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/cli/dispatch.h"
#include "tests/temporary_folder.h"

using blockyard::TemporaryFolder;
using namespace blockyard::cli;
using Catch::Contains;

namespace {

struct Run {
  ExitStatus status;
  std::string out;
  std::string err;
};

Run cache(Arguments arguments) {
  const TemporaryFolder folder;
  folder.write("turns.jsonl",
               "{\"timestamp\":0,\"input_length\":1300,\"output_length\":5,\"hash_ids\":[1,2,3]}\n"
               "{\"timestamp\":1,\"input_length\":1024,\"output_length\":5,\"hash_ids\":[1,2]}\n");
  arguments.insert(arguments.begin(), {"cache", (folder / "turns.jsonl").string()});
  std::ostringstream out;
  std::ostringstream err;
  const ExitStatus status = run_command_line(arguments, {out, err});
  return {status, out.str(), err.str()};
}

TEST_CASE("cache --json: one result a policy and capacity, in the order asked for") {
  const Run run = cache({"--json", "--capacity", "1,2,unlimited", "--policy", "fifo,opt"});
  REQUIRE(run.status == ExitStatus::done);
  const auto json = nlohmann::json::parse(run.out);
  CHECK(json["schema"] == "blockyard.cache/1");
  const auto& results = json["results"];
  REQUIRE(results.size() == 6);
  CHECK(results[0]["policy"] == "fifo");
  CHECK(results[0]["capacity_blocks"] == 1);
  CHECK(results[0]["hit_blocks"] == 1);
  CHECK(results[0]["hit_tokens"] == 512);
  CHECK(results[1]["hit_blocks"] == 2);
  CHECK(results[2]["capacity_blocks"].is_null());
  CHECK(results[3]["policy"] == "opt");
  CHECK(json["ideal"]["hit_tokens"] == 1024);
  CHECK(json["lru_curve"].back()["hit_blocks"] == 2);
}

TEST_CASE("cache: capacities in tokens and in GiB of the model are blocks rounded down") {
  const auto json = nlohmann::json::parse(cache({"--json", "--unit", "tokens", "--capacity", "1535"}).out);
  CHECK(json["results"][0]["capacity_blocks"] == 2);
  // 131,072 bytes a token of llama-3.1-8b: 1 GiB is 16 blocks of 512 tokens.
  const auto gib = nlohmann::json::parse(cache({"--json", "--unit", "GiB", "--capacity", "1,0.5"}).out);
  CHECK(gib["results"][0]["capacity_blocks"] == 16);
  CHECK(gib["results"][1]["capacity_blocks"] == 8);
  CHECK(gib["unit"] == "GiB");
  CHECK(gib["results"][1]["capacity"] == 0.5);
  CHECK(gib["cost_bounds"][0]["capacity"] == 1.0);
  CHECK(json["results"][0]["capacity"] == 1024.0);
  CHECK(nlohmann::json::parse(cache({"--json", "--capacity", "unlimited"}).out)["results"][0]["capacity"].is_null());
}

TEST_CASE("cache: a unit that was asked for stands beside the blocks") {
  const std::string gib = cache({"--unit", "GiB", "--capacity", "1,0.5,unlimited"}).out;
  CHECK_THAT(gib, Contains("policy     GiB   capacity") && Contains("\nlru      1.000         16") &&
                      Contains("\nlru     0.5000          8") && Contains("\nbound    1.000         16") &&
                      Contains("\nlru             unlimited"));
  CHECK_THAT(cache({"--unit", "tokens", "--capacity", "1535"}).out,
             Contains("policy  tokens  capacity") && Contains("\nlru      1,024         2"));
  CHECK_THAT(cache({"--capacity", "2"}).out, Contains("policy  capacity"));
}

TEST_CASE("cache: the engine's rule never takes the last token from the cache") {
  const auto json = nlohmann::json::parse(cache({"--json", "--lookup", "full"}).out);
  CHECK(json["ideal"]["hit_blocks"] == 1);
}

TEST_CASE("cache --warm: what the cache starts with is said, and found") {
  const std::string file = (std::filesystem::temp_directory_path() / "blockyard_cache_cli_warm.jsonl").string();
  std::ofstream(file) << "{\"timestamp\":0,\"input_length\":1024,\"output_length\":5,\"hash_ids\":[1,9]}\n";
  const auto json = nlohmann::json::parse(cache({"--json", "--capacity", "unlimited", "--warm", file}).out);
  CHECK(json["warm"]["file"] == file);
  CHECK(json["warm"]["requests"] == 1);
  CHECK(json["warm"]["different_blocks"] == 2);
  CHECK(json["requests"] == 2);
  CHECK(json["different_blocks"] == 3);
  CHECK(json["results"][0]["hit_blocks"] == 1 + 2);
  CHECK(json["results"][0]["request_hit_ratio"] == 1.0);
  CHECK(json["ideal"]["hit_blocks"] == 1 + 2);
  CHECK_THAT(cache({"--warm", file}).out, Contains("starts with 2 different blocks that 1 requests of " + file));
  CHECK(nlohmann::json::parse(cache({"--json"}).out)["warm"].is_null());
  CHECK(cache({"--warm", "/no/such.jsonl"}).status == ExitStatus::bad_input);
}

TEST_CASE("cache: wrong usage is told with what would be right") {
  CHECK_THAT(cache({"--policy", "seive"}).err, Contains("did you mean \"sieve\"?"));
  CHECK_THAT(cache({"--unit", "GB"}).err, Contains("--unit: expected blocks, tokens or GiB"));
  CHECK_THAT(cache({"--lookup", "half"}).err, Contains("--lookup: expected raw or full"));
  CHECK_THAT(cache({"--capacity", "many"}).err, Contains("--capacity: expected a number"));
  CHECK_THAT(cache({"--model", "llama-3.1-9b"}).err, Contains("did you mean"));
  CHECK(cache({"--policy", "seive"}).status == ExitStatus::bad_input);
}

TEST_CASE("cache: rules are said, go with all policies but those they do not fit, and wrong ones are told") {
  const Run run = cache({"--policy", "all", "--admission", "tinylfu", "--pin", "512", "--quota", "0.5"});
  REQUIRE(run.status == ExitStatus::done);
  CHECK_THAT(run.out, Contains("rules       admission tinylfu, first 1 blocks pinned, at most 50.00 % for a tenant"));
  CHECK_THAT(run.out, !Contains("\nopt "));
  CHECK_THAT(cache({"--policy", "opt", "--pin", "512"}).err, Contains("--policy: opt is the bound"));
  CHECK_THAT(cache({"--admission", "tinylfo"}).err, Contains("did you mean \"tinylfu\""));
  CHECK_THAT(cache({"--quota", "2"}).err, Contains("--quota"));
  CHECK_THAT(cache({"--answers", "--lookup", "raw"}).err, Contains("--answers"));
  CHECK(cache({"--answers", "--salt", "request"}).status == ExitStatus::done);
}

TEST_CASE("cache: kept answers and who shares are said on the screen and in JSON") {
  CHECK_THAT(cache({"--answers", "--salt", "tenant"}).out,
             Contains("rules       answers kept, shared within a tenant\n"));
  CHECK_THAT(cache({}).out, !Contains("  rules "));
  const auto json = nlohmann::json::parse(cache({"--answers", "--salt", "request", "--json"}).out);
  CHECK(json["answers"] == true);
  CHECK(json["salt"] == "request");
  const auto plain = nlohmann::json::parse(cache({"--json"}).out);
  CHECK(plain["answers"] == false);
  CHECK(plain["salt"] == "none");
}

TEST_CASE("cache: a pin of less than a block pins nothing, and is told") {
  const Run run = cache({"--pin", "511"});
  CHECK(run.status == ExitStatus::bad_input);
  CHECK_THAT(run.err, Contains("--pin: 511 tokens are less than a block of 512"));
  CHECK(cache({"--pin", "0"}).status == ExitStatus::done);
  CHECK(nlohmann::json::parse(cache({"--pin", "1025", "--json"}).out)["pinned_blocks"] == 2);
}

TEST_CASE("cache: wrong rules are told before the trace is read") {
  const std::vector<std::pair<Arguments, std::string>> wrong{{{"--admission", "tinylfo"}, "--admission"},
                                                             {{"--quota", "2"}, "--quota"},
                                                             {{"--pin", "x"}, "--pin"},
                                                             {{"--flat", "--pin", "512"}, "--flat"},
                                                             {{"--salt", "user"}, "--salt"}};
  for (const auto& [options, place] : wrong) {
    Arguments arguments{"cache", "/absent/trace.jsonl"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    std::ostringstream out;
    std::ostringstream err;
    CHECK(run_command_line(arguments, {out, err}) == ExitStatus::bad_input);
    CHECK_THAT(err.str(), Contains(place) && !Contains("absent"));
  }
}

TEST_CASE("cache: a screen with every policy") {
  const Run run = cache({"--policy", "all", "--capacity", "2"});
  CHECK(run.status == ExitStatus::done);
  CHECK_THAT(run.out, Contains("workload_aware") && Contains("of ideal") && Contains("stranded"));
}

TEST_CASE("cache: a unit belongs to --unit") {
  const Run run = cache({"--capacity", "100 GiB"});
  CHECK(run.status == ExitStatus::bad_input);
  CHECK_THAT(run.err, Contains("--capacity: found \"100GiB\"") && Contains("--unit"));
  CHECK(cache({"--capacity", "1e0"}).status == ExitStatus::done);
}

}  // namespace
