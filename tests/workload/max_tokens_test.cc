#include "sim/workload/max_tokens.h"

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

std::vector<std::int64_t> declared(const MaxTokensRule& rule) {
  const auto edited = with_max_tokens(
      std::make_unique<ListSource>(std::vector<Request>{{SimTime(0), Tokens(100), Tokens(7), Tokens(50)},
                                                        {SimTime(1), Tokens(4096), Tokens(300), Tokens(300)}}),
      rule);
  std::vector<std::int64_t> out;
  for (const Request& request : read_all(*edited)) {
    CHECK(request.output_tokens == Tokens(out.empty() ? 7 : 300));
    out.push_back(request.max_tokens.count());
  }
  return out;
}

using Counts = std::vector<std::int64_t>;

TEST_CASE("each max_tokens rule declares what it says and changes nothing else") {
  CHECK(declared({MaxTokensKind::recorded}) == Counts{50, 300});
  CHECK(declared({MaxTokensKind::true_length}) == Counts{7, 300});
  CHECK(declared({MaxTokensKind::constant, Tokens(64)}) == Counts{64, 64});
  CHECK(declared({MaxTokensKind::factor, Tokens(0), 1.5}) == Counts{11, 450});
  CHECK(declared({MaxTokensKind::factor, Tokens(0), 0.01}) == Counts{1, 3});
  CHECK(declared({MaxTokensKind::model_limit, Tokens(0), 1, Tokens(4096)}) == Counts{3996, 1});
}

TEST_CASE("the noise on a factor has a mean of 1 and its CV, and is the same for one seed") {
  constexpr std::int64_t kRequests = 40'000;
  const auto declare = [](std::uint64_t seed) {
    Request request;
    request.prompt_tokens = Tokens(100);
    request.output_tokens = Tokens(100'000);
    MaxTokensRule rule{.kind = MaxTokensKind::factor, .factor = 2};
    rule.noise_cv = 0.5;
    rule.seed = seed;
    const auto source = with_max_tokens(std::make_unique<ListSource>(std::vector<Request>(kRequests, request)), rule);
    return read_all(*source);
  };
  const std::vector<Request> requests = declare(3);
  double sum = 0;
  double squares = 0;
  for (const Request& r : requests) {
    const double noise = static_cast<double>(r.max_tokens.count()) / 200'000;
    sum += noise;
    squares += noise * noise;
  }
  const double mean = sum / kRequests;
  CHECK(std::abs(mean - 1) <= 4.5 * 0.5 / std::sqrt(kRequests));
  CHECK(std::sqrt(squares / kRequests - mean * mean) == Approx(0.5).epsilon(0.05));
  CHECK(declare(3)[7].max_tokens == requests[7].max_tokens);
  CHECK(declare(4)[7].max_tokens != requests[7].max_tokens);
}

TEST_CASE("max_tokens rules refuse values out of range") {
  CHECK_THROWS_WITH(with_max_tokens(nullptr, {MaxTokensKind::constant}),
                    "max_tokens.value: found 0, expected 1 token or more");
  CHECK_THROWS_WITH(with_max_tokens(nullptr, {MaxTokensKind::factor, Tokens(0), 0}),
                    "max_tokens.factor: found 0, expected a number above 0, up to 1e6");
  CHECK_THROWS_WITH(with_max_tokens(nullptr, {MaxTokensKind::model_limit}),
                    "max_model_len: found 0, expected 1 token or more");
}

TEST_CASE("the table of max_tokens rules names each kind once") {
  Counts kinds;
  for (const MaxTokensEntry& entry : max_tokens_rules()) {
    CHECK_FALSE(entry.doc.empty());
    kinds.push_back(static_cast<std::int64_t>(entry.kind));
  }
  std::sort(kinds.begin(), kinds.end());
  CHECK(kinds == Counts{0, 1, 2, 3, 4});
}

}  // namespace
}  // namespace blockyard::workload
