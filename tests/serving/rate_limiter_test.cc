#include "sim/serving/rate_limiter.h"

#include <catch2/catch.hpp>

namespace blockyard::serving {
namespace {

workload::Request at(double seconds, std::int64_t tokens, std::uint32_t tenant = 0) {
  workload::Request r;
  r.arrival = to_time(seconds);
  r.prompt_tokens = Tokens(tokens - 1);
  r.max_tokens = Tokens(1);
  r.tenant = tenant;
  return r;
}

TEST_CASE("requests: a burst, then the rate, each tenant by itself") {
  RateLimiter limiter({2.0, std::nullopt, 1.5});  // 2 a second, a bucket of 3
  for (int i = 0; i < 3; ++i) CHECK(limiter.admit(at(0, 10)));
  CHECK_FALSE(limiter.admit(at(0, 10)));
  CHECK(limiter.admit(at(0, 10, 1)));
  CHECK_FALSE(limiter.admit(at(0.25, 10)));
  CHECK(limiter.admit(at(0.5, 10)));
  CHECK_FALSE(limiter.admit(at(0.75, 10)));
  // Full again after 1.5 s, and never more than full.
  for (int i = 0; i < 3; ++i) CHECK(limiter.admit(at(100, 10)));
  CHECK_FALSE(limiter.admit(at(100, 10)));
}

TEST_CASE("tokens: a request larger than the bucket waits for a full one, and leaves a debt") {
  RateLimiter limiter({std::nullopt, 100.0, 1});  // a bucket of 100
  CHECK(limiter.admit(at(0, 60)));
  CHECK_FALSE(limiter.admit(at(0, 60)));
  CHECK(limiter.admit(at(0, 40)));
  CHECK_FALSE(limiter.admit(at(0.5, 250)));
  CHECK(limiter.admit(at(1, 250)));  // from 100 to -150
  CHECK_FALSE(limiter.admit(at(2, 10)));
  CHECK(limiter.admit(at(2.6, 10)));
}

TEST_CASE("who is turned away for its tokens takes no request from the other bucket") {
  RateLimiter limiter({1.0, 100.0, 1});
  CHECK(limiter.admit(at(0, 60)));
  CHECK_FALSE(limiter.admit(at(0, 60)));
  CHECK_FALSE(limiter.admit(at(0.5, 20)));
  CHECK(limiter.admit(at(1, 100)));
}

TEST_CASE("who comes just at the rate is let in, though arrivals are rounded to the nanosecond") {
  RateLimiter limiter({3.0, std::nullopt, 1.0 / 3});  // a bucket of 1
  for (int i = 0; i < 1000; ++i) CHECK(limiter.admit(at(i / 3.0, 10)));
  CHECK_FALSE(limiter.admit(at(333.2, 10)));
}

}  // namespace
}  // namespace blockyard::serving
