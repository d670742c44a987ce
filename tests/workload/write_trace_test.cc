#include "sim/workload/write_trace.h"

#include <fmt/format.h>
#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <stdexcept>

#include "sim/base/pending_file.h"
#include "sim/workload/block_names.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

// What two prompts share is all that ids mean: the contents as lists of ids by order of first sight.
std::vector<std::vector<std::int64_t>> shapes(const std::vector<Request>& requests, const ContentStore& contents,
                                              Tokens block) {
  BlockNames names(block);
  std::vector<std::vector<std::int64_t>> all;
  for (const Request& request : requests) {
    std::vector<std::int64_t>& ids = all.emplace_back();
    if (request.content != ContentId::none) names.append(contents.at(request.content), request.prompt_tokens, ids);
  }
  return all;
}

struct Loaded {
  std::vector<Request> requests;
  ContentStore contents;
  ReadReport read;
};

void load(Loaded& loaded, const std::string& path, const std::string& format = "auto") {
  TraceOptions options;
  options.format = format;
  options.contents = &loaded.contents;
  options.untimed = UntimedRows::keep;
  const auto source = open_trace(path, options);
  loaded.requests = read_all(*source);
  loaded.read = source->report();
}

Written convert(const std::string& in, const std::string& out, const std::string& to, const KeyedIds* names = nullptr,
                const std::string& from = "auto") {
  ContentStore contents;
  TraceOptions options;
  options.format = from;
  options.contents = &contents;
  options.untimed = UntimedRows::keep;
  const auto source = open_trace(in, options);
  return write_trace(*source, contents, out, {to, names}, source->report());
}

// Sessions, delays, kinds and ids, of a tree of prompts that begin alike, in blocks of `block` tokens.
std::string random_trace(std::int64_t block, bool with_ids) {
  std::string text;
  std::vector<std::vector<std::int64_t>> chains{{}};
  std::int64_t next_id = 0;
  std::int64_t arrival_ns = 0;
  const std::size_t count = *rc::gen::inRange<std::size_t>(1, 40);
  for (std::size_t i = 0; i < count; ++i) {
    arrival_ns += *rc::gen::inRange<std::int64_t>(0, 3'000'000'000);
    std::vector<std::int64_t> chain = chains[*rc::gen::inRange<std::size_t>(0, chains.size())];
    const std::int64_t more = *rc::gen::inRange<std::int64_t>(1, 4);
    for (std::int64_t k = 0; k < more; ++k) chain.push_back(next_id++);
    chains.push_back(chain);
    const std::int64_t partial = *rc::gen::inRange<std::int64_t>(0, block);
    if (partial > 0) chain.push_back(next_id++);
    const std::int64_t prompt = block * (std::ssize(chain) - (partial > 0 ? 1 : 0)) + partial;
    text += fmt::format("{{\"arrival_s\": {}.{:09}, \"prompt_tokens\": {}, \"output_tokens\": {}",
                        arrival_ns / 1'000'000'000, arrival_ns % 1'000'000'000, prompt, *rc::gen::inRange(1, 500));
    if (i == 0 || *rc::gen::arbitrary<bool>()) text += fmt::format(", \"n\": {}", *rc::gen::inRange(1, 5));
    if (*rc::gen::arbitrary<bool>()) text += fmt::format(", \"priority\": {}", *rc::gen::inRange(-3, 3));
    if (*rc::gen::arbitrary<bool>()) text += fmt::format(", \"max_tokens\": {}", *rc::gen::inRange(0, 900));
    if (*rc::gen::arbitrary<bool>()) text += fmt::format(", \"tenant\": {}", *rc::gen::inRange(0, 5));
    if (*rc::gen::arbitrary<bool>())
      text += ", \"category\": \"kind, " + std::string(1, 'a' + static_cast<char>(i % 3)) + "\"";
    const int session = *rc::gen::inRange(0, 4);
    if (session > 0) {
      text += fmt::format(", \"session\": {}, \"reused_tokens\": {}", session, *rc::gen::inRange(0, 900));
      if (*rc::gen::arbitrary<bool>()) text += fmt::format(", \"delay_s\": {}.5", *rc::gen::inRange(0, 9));
    } else if (!with_ids) {
      text += fmt::format(", \"prefix_id\": {}, \"prefix_tokens\": {}", *rc::gen::inRange(1, 4),
                          std::min<std::int64_t>(prompt, 20));
    }
    if (with_ids) text += fmt::format(", \"block_tokens\": {}, \"hash_ids\": [{}]", block, fmt::join(chain, ", "));
    text += "}\n";
  }
  return text;
}

bool same_but_for_content(const Request& a, const Request& b) {
  return a.arrival == b.arrival && a.prompt_tokens == b.prompt_tokens && a.output_tokens == b.output_tokens &&
         a.max_tokens == b.max_tokens && a.priority == b.priority && a.tenant == b.tenant && a.session == b.session &&
         a.prefix == b.prefix && a.prefix_tokens == b.prefix_tokens && a.reused_tokens == b.reused_tokens &&
         a.category == b.category && a.delay == b.delay && a.samples == b.samples;
}

TEST_CASE("our own formats say everything: what is written is read back the same") {
  REQUIRE(rc::check([] {
    const TraceFolder folder;
    const bool with_ids = *rc::gen::arbitrary<bool>();
    const std::string in = folder.write("in.jsonl", random_trace(*rc::gen::inRange<std::int64_t>(1, 40), with_ids));
    Loaded before;
    load(before, in);
    for (const char* to : {"blockyard-jsonl", "blockyard"}) {
      const std::string out = folder.path("out");
      const Written written = convert(in, out, to);
      Loaded after;
      load(after, out);
      RC_ASSERT(written.requests == std::ssize(before.requests));
      RC_ASSERT(after.read.format == to);
      RC_ASSERT(after.requests.size() == before.requests.size());
      for (std::size_t i = 0; i < before.requests.size(); ++i) {
        RC_ASSERT(same_but_for_content(before.requests[i], after.requests[i]));
      }
      RC_ASSERT(before.read.categories == after.read.categories);
      if (std::string_view(to) == "blockyard") continue;
      const Tokens block(std::max<std::int64_t>(before.read.hash_block, 1));
      RC_ASSERT(shapes(before.requests, before.contents, block) == shapes(after.requests, after.contents, block));
    }
  }));
}

// 64-token ids become 512-token ids, or 16-token ids: two prompts share exactly the blocks of that size that they
// shared in tokens, which the finest blocks tell.
TEST_CASE("ids of another size keep what prompts share") {
  REQUIRE(rc::check([] {
    const TraceFolder folder;
    const std::string in =
        folder.write("in.jsonl", random_trace(*rc::gen::element<std::int64_t>(16, 48, 64, 512), true));
    Loaded before;
    load(before, in);
    for (const auto& [to, block] :
         std::vector<std::pair<std::string, Tokens>>{{"mooncake", Tokens(512)}, {"vllm-timed", Tokens(16)}}) {
      convert(in, folder.path("out"), to);
      Loaded after;
      load(after, folder.path("out"), to);
      RC_ASSERT(after.requests.size() == before.requests.size());
      for (std::size_t i = 0; i < before.requests.size(); ++i) {
        RC_ASSERT(after.requests[i].arrival == before.requests[i].arrival);
        RC_ASSERT(after.requests[i].prompt_tokens == before.requests[i].prompt_tokens);
        RC_ASSERT(after.requests[i].output_tokens == before.requests[i].output_tokens);
      }
      RC_ASSERT(shapes(before.requests, before.contents, block) == shapes(after.requests, after.contents, block));
    }
  }));
}

TEST_CASE("mooncake keeps sessions, delays and priorities; vidur times and lengths; the rest is told") {
  const TraceFolder folder;
  const std::string in =
      folder.write("in.csv",
                   "arrival_s,prompt_tokens,output_tokens,max_tokens,priority,tenant,session,delay_s\n"
                   "0,100,10,10,0,0,5,\n1.000000001,150,10,99,-2,7,5,0.25\n");
  CHECK(convert(in, folder.path("m"), "mooncake").lost ==
        std::vector<std::pair<std::string, std::int64_t>>{{"max_tokens", 1}, {"tenant", 1}});
  CHECK(file_bytes(folder.path("m")) ==
        "{\"timestamp\": 0, \"input_length\": 100, \"output_length\": 10, \"session_id\": 5}\n"
        "{\"timestamp\": 1000.000001, \"input_length\": 150, \"output_length\": 10, \"session_id\": 5, \"delay\": 250, "
        "\"priority\": -2}\n");
  CHECK(read_trace(folder.path("m")).requests[1].delay == SimTime(250'000'000));
  CHECK(convert(in, folder.path("v"), "vidur").lost.size() == 5);
  CHECK(file_bytes(folder.path("v")) ==
        "arrived_at,num_prefill_tokens,num_decode_tokens\n0,100,10\n1.000000001,150,10\n");
  CHECK(read_trace(folder.path("v")).report.format == "vidur");
  CHECK_THROWS_WITH(convert(in, folder.path("x"), "vidor"), Catch::Contains("did you mean \"vidur\"?"));
}

TEST_CASE("shared beginnings become ids where the format has no other way to say it") {
  const TraceFolder folder;
  const std::string in = folder.write("in.csv",
                                      "arrival_s,prompt_tokens,output_tokens,prefix_id,prefix_tokens\n"
                                      "0,40,1,3,32\n0,40,1,3,32\n0,40,1,4,32\n");
  convert(in, folder.path("t"), "vllm-timed");
  CHECK(file_bytes(folder.path("t")) ==
        "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 1, \"hash_ids\": [0, 1, 2]}\n"
        "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 1, \"hash_ids\": [0, 1, 3]}\n"
        "{\"timestamp\": 0, \"input_length\": 40, \"output_length\": 1, \"hash_ids\": [4, 5, 6]}\n");
}

TEST_CASE("anonymised traces keep who shares what with whom, and nothing of the names") {
  const TraceFolder folder;
  std::string text;
  for (int i = 0; i < 50; ++i) {
    text += fmt::format(
        "{{\"arrival_s\": {}, \"prompt_tokens\": 40, \"output_tokens\": 5, \"tenant\": {}, \"session\": {}, "
        "\"block_tokens\": 16, \"hash_ids\": [{}, {}, {}]}}\n",
        i, i % 3, i % 7, i % 2, 10 + i % 5, 100 + i);
  }
  const std::string in = folder.write("in.jsonl", text);
  const KeyedIds key("a key");
  const KeyedIds other("another key");
  convert(in, folder.path("a"), "blockyard-jsonl", &key);
  convert(in, folder.path("again"), "blockyard-jsonl", &key);
  convert(in, folder.path("b"), "blockyard-jsonl", &other);
  CHECK(file_bytes(folder.path("a")) == file_bytes(folder.path("again")));
  CHECK(file_bytes(folder.path("a")) != file_bytes(folder.path("b")));
  Loaded before;
  Loaded after;
  load(before, in);
  load(after, folder.path("a"));
  CHECK(shapes(before.requests, before.contents, Tokens(16)) == shapes(after.requests, after.contents, Tokens(16)));
  std::map<std::uint32_t, std::uint32_t> sessions;
  std::map<std::uint32_t, std::uint32_t> back;
  for (std::size_t i = 0; i < before.requests.size(); ++i) {
    const std::uint32_t old_name = before.requests[i].session;
    const std::uint32_t new_name = after.requests[i].session;
    CHECK(sessions.try_emplace(old_name, new_name).first->second == new_name);
    CHECK(back.try_emplace(new_name, old_name).first->second == old_name);
  }
  CHECK(sessions.at(0) == 0);
}

TEST_CASE("keyed names are a permutation, another for every key and kind") {
  const KeyedIds key("k");
  std::map<std::int64_t, std::int64_t> blocks;
  for (std::int64_t id = 0; id < 20'000; ++id) blocks.emplace(key.block(id), id);
  CHECK(blocks.size() == 20'000);
  CHECK(blocks.rbegin()->first < std::int64_t{1} << 38);
  CHECK(key.block(7) != KeyedIds("l").block(7));
  CHECK(key.name(KeyedIds::Kind::session, 7) != key.name(KeyedIds::Kind::tenant, 7));
  CHECK(key.name(KeyedIds::Kind::session, 0) == 0);
}

TEST_CASE("a conversion that fails leaves no file") {
  const TraceFolder folder;
  const std::string in = folder.write("in.csv", "arrival_s,prompt_tokens,output_tokens\n0,1,1\n0,x,1\n");
  CHECK_THROWS_AS(convert(in, folder.path("out"), "vidur"), InputError);
  CHECK_FALSE(std::filesystem::exists(folder.path("out")));
  CHECK(std::distance(std::filesystem::directory_iterator(folder.folder()), {}) == 1);
}

std::size_t files_in(const TraceFolder& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder.folder()), {}));
}

TEST_CASE("our CSV as it stands in the grammar, whole or with some of its columns") {
  const TraceFolder folder;
  const std::string path = folder.path("out.csv");
  const std::vector<Request> requests{{SimTime(0), Tokens(374), Tokens(44), Tokens(512), -1, 2, 3},
                                      {SimTime(4'314'489'000), Tokens(396), Tokens(109), Tokens(109)}};
  ListSource whole(requests);
  CHECK(write_trace(whole, path).lost.empty());
  CHECK(file_bytes(path) ==
        "arrival_s,prompt_tokens,output_tokens,max_tokens,priority,tenant,session,prefix_id,prefix_tokens,"
        "reused_tokens,delay_s,category,n\n"
        "0,374,44,512,-1,2,3,0,0,,,,1\n4.314489,396,109,109,0,0,0,0,0,,,,1\n");
  ListSource part(requests);
  OutputOptions options;
  options.fields = fields::priority | fields::samples;
  const Written written = write_trace(part, path, options);
  CHECK(file_bytes(path) == "arrival_s,prompt_tokens,output_tokens,priority,n\n0,374,44,-1,1\n4.314489,396,109,0,1\n");
  CHECK(written.lost ==
        std::vector<std::pair<std::string, std::int64_t>>{{"max_tokens", 1}, {"tenant", 1}, {"session", 1}});
}

// Later requests of a session may wait for the one before.
std::vector<Request> random_requests() {
  std::vector<Request> requests;
  std::set<std::uint32_t> begun;
  SimTime arrival(0);
  const std::size_t count = *rc::gen::inRange<std::size_t>(0, 600);
  for (std::size_t i = 0; i < count; ++i) {
    Request& request = requests.emplace_back();
    request.arrival = arrival;
    request.prompt_tokens = Tokens(*rc::gen::inRange<std::int64_t>(1, 1'000'000'001));
    request.output_tokens = Tokens(*rc::gen::inRange<std::int64_t>(1, 1'000'000'001));
    request.max_tokens = Tokens(*rc::gen::inRange<std::int64_t>(0, 1'000'000'001));
    request.priority = *rc::gen::arbitrary<std::int32_t>();
    request.tenant = *rc::gen::arbitrary<std::uint32_t>();
    request.session = *rc::gen::element<std::uint32_t>(0U, 1U, 2U, UINT32_MAX);
    request.prefix = *rc::gen::arbitrary<std::uint32_t>();
    request.prefix_tokens =
        static_cast<std::int32_t>(*rc::gen::inRange<std::int64_t>(0, request.prompt_tokens.count() + 1));
    request.samples = *rc::gen::inRange(1, kMostSamples + 1);
    if (*rc::gen::arbitrary<bool>()) request.reused_tokens = *rc::gen::inRange(0, 1'000'000'001);
    const bool waits = request.session != 0 && !begun.insert(request.session).second;
    if (waits && *rc::gen::arbitrary<bool>()) {
      request.delay = SimTime(*rc::gen::inRange<std::int64_t>(0, 1LL << 53));
    }
    arrival += SimTime(*rc::gen::inRange<std::int64_t>(0, *rc::gen::element<std::int64_t>(2, 1'000'000, 1LL << 53)));
  }
  return requests;
}

TEST_CASE("any request of our CSV or JSON lines is read back the same, to the ns") {
  REQUIRE(rc::check([] {
    const std::vector<Request> requests = random_requests();
    const TraceFolder folder;
    for (const char* format : {"blockyard", "blockyard-jsonl"}) {
      ListSource source(requests);
      const Written written = write_trace(source, folder.path("out"), {format});
      RC_ASSERT(written.lost.empty());
      TraceOptions by_name;
      by_name.format = format;
      if (!requests.empty()) RC_ASSERT(read_trace(folder.path("out")).report.format == format);
      const std::vector<Request> back = read_trace(folder.path("out"), by_name).requests;
      RC_ASSERT(back.size() == requests.size());
      for (std::size_t i = 0; i < back.size(); ++i) {
        // A beginning of no tokens is none.
        Request expected = requests[i];
        if (expected.prefix_tokens == 0) expected.prefix = back[i].prefix;
        RC_ASSERT(same_but_for_content(back[i], expected));
      }
      RC_ASSERT(files_in(folder) == 1U);
    }
  }));
}

// Breaks off after some requests.
class BrokenSource final : public RequestSource {
 public:
  std::size_t read(std::span<Request> out) override {
    if (++calls_ > 3) throw std::runtime_error("broken");
    for (Request& request : out) request = {SimTime(calls_), Tokens(1), Tokens(1), Tokens(1)};
    return out.size();
  }

 private:
  std::int64_t calls_ = 0;
};

TEST_CASE("a write that fails leaves no file, and an older file as it was") {
  const TraceFolder folder;
  const std::string path = folder.write("out.csv", "older");
  BrokenSource source;
  CHECK_THROWS_WITH(write_trace(source, path), "broken");
  CHECK(file_bytes(path) == "older");
  CHECK(files_in(folder) == 1U);
}

TEST_CASE("a place that cannot be written is told, and is no fault of the input") {
  const TraceFolder folder;
  ListSource source({});
  const std::string path = folder.path("absent/out.csv");
  CHECK_THROWS_WITH(write_trace(source, path), path + ": cannot be written: No such file or directory");
  ListSource another({});
  CHECK_THROWS_AS(write_trace(another, folder.folder().string()), WriteError);
  CHECK(files_in(folder) == 0U);
}

}  // namespace
}  // namespace blockyard::workload
