#include "sim/serving/prompt_contents.h"

#include <catch2/catch.hpp>

using namespace blockyard;
using namespace blockyard::serving;

namespace {

workload::Request request(std::int64_t prompt) {
  workload::Request r;
  r.prompt_tokens = Tokens(prompt);
  return r;
}

Content content_of(PromptContents& contents, RequestId id) {
  Content out;
  contents.content_of(id, out);
  return out;
}

std::int64_t length(const Content& content) {
  std::int64_t n = 0;
  for (const TokenRun& run : content) n += run.count;
  return n;
}

// Leading tokens that two contents have in common.
std::int64_t shared(const Content& a, const Content& b) {
  std::vector<std::int64_t> x;
  std::vector<std::int64_t> y;
  for (const TokenRun& run : a) {
    for (std::int64_t i = 0; i < run.count; ++i) x.push_back(run.start + i);
  }
  for (const TokenRun& run : b) {
    for (std::int64_t i = 0; i < run.count; ++i) y.push_back(run.start + i);
  }
  std::size_t n = 0;
  while (n < x.size() && n < y.size() && x[n] == y[n]) ++n;
  return static_cast<std::int64_t>(n);
}

TEST_CASE("a turn repeats at most reused_tokens of what its session has said") {
  PromptContents contents;
  workload::Request first = request(100);
  first.session = 7;
  workload::Request second = request(200);
  second.session = 7;
  second.reused_tokens = 60;
  contents.arrived(RequestId{0}, first, Tokens(50));
  contents.arrived(RequestId{1}, second, Tokens(1));
  const Content said = content_of(contents, RequestId{0});
  const Content then = content_of(contents, RequestId{1});
  REQUIRE(said.size() == 1);
  REQUIRE(then.size() == 2);
  CHECK(then[0] == TokenRun{said[0].start, 60});
  CHECK(then[1].count == 141);
}

}  // namespace

TEST_CASE("requests that share nothing say nothing in common") {
  PromptContents contents;
  contents.arrived(RequestId{0}, request(10), Tokens(5));
  contents.arrived(RequestId{1}, request(10), Tokens(5));
  CHECK(length(content_of(contents, RequestId{0})) == 15);
  CHECK(shared(content_of(contents, RequestId{0}), content_of(contents, RequestId{1})) == 0);
}

TEST_CASE("prompts of one prefix share its tokens and no more") {
  PromptContents contents;
  workload::Request r = request(10);
  r.prefix = 3;
  r.prefix_tokens = 6;
  contents.arrived(RequestId{0}, r, Tokens(5));
  contents.arrived(RequestId{1}, r, Tokens(5));
  r.prefix = 4;
  contents.arrived(RequestId{2}, r, Tokens(5));
  CHECK(shared(content_of(contents, RequestId{0}), content_of(contents, RequestId{1})) == 6);
  CHECK(shared(content_of(contents, RequestId{0}), content_of(contents, RequestId{2})) == 0);
  CHECK(length(content_of(contents, RequestId{2})) == 15);
}

// Turn 1: 10 in, 5 out. Turn 2 begins with those 15 and adds 7. Turn 3 is cut to 12: it is a part of what was said.
TEST_CASE("a session's prompt begins with all that was said before, as far as it reaches") {
  PromptContents contents;
  workload::Request r = request(10);
  r.session = 1;
  contents.arrived(RequestId{0}, r, Tokens(5));
  r.prompt_tokens = Tokens(22);
  contents.arrived(RequestId{1}, r, Tokens(4));
  r.prompt_tokens = Tokens(12);
  contents.arrived(RequestId{2}, r, Tokens(4));
  CHECK(shared(content_of(contents, RequestId{0}), content_of(contents, RequestId{1})) == 15);
  CHECK(shared(content_of(contents, RequestId{0}), content_of(contents, RequestId{2})) == 12);
  CHECK(length(content_of(contents, RequestId{1})) == 26);
  CHECK(length(content_of(contents, RequestId{2})) == 16);
}

// Two ids of 4 tokens for a prompt of 7: the second names 3 tokens; the answer is the request's own.
TEST_CASE("ids of trace blocks name the prompt, cut at its end") {
  PromptContents contents;
  workload::Request r = request(7);
  const std::vector<std::int64_t> ids{8, 2};
  r.content = contents.store().add(ids, Tokens(4), Tokens(7));
  contents.arrived(RequestId{0}, r, Tokens(2));
  const Content content = content_of(contents, RequestId{0});
  REQUIRE(content.size() == 3);
  CHECK(content[0] == TokenRun{32, 4});
  CHECK(content[1] == TokenRun{8, 3});
  CHECK(content[2].count == 2);
  contents.ended(RequestId{0});
}
