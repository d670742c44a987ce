#include "sim/cli/progress.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "sim/cli/numbers.h"

using namespace blockyard;
using namespace blockyard::cli;
using namespace std::chrono_literals;

namespace {

constexpr const char* kErase = "\r\x1b[K";

struct Shown {
  std::ostringstream out;
  std::ostringstream err;
  std::chrono::steady_clock::time_point now;

  Streams streams(bool terminal) { return {out, err, terminal}; }
  Progress::Clock clock() {
    return [this] { return now; };
  }
  int count(const std::string& part) const {
    int n = 0;
    for (std::size_t at = err.str().find(part); at != std::string::npos; at = err.str().find(part, at + 1)) ++n;
    return n;
  }
};

}  // namespace

TEST_CASE("durations in words have two units at most") {
  CHECK(in_words(0) == "0 s");
  CHECK(in_words(59.4) == "59 s");
  CHECK(in_words(59.6) == "1 min 0 s");
  CHECK(in_words(3501.7) == "58 min 22 s");
  CHECK(in_words(7500) == "2 h 5 min");
  CHECK(in_words(273600) == "3 d 4 h");
}

TEST_CASE("numbers are grouped by thousands") {
  CHECK(grouped(0) == "0");
  CHECK(grouped(999) == "999");
  CHECK(grouped(1000) == "1,000");
  CHECK(grouped(-123456) == "-123,456");
  CHECK(grouped(-1234567) == "-1,234,567");
}

TEST_CASE("the time left is that of the mean speed so far") {
  // A quarter is done after 2 s, so three quarters take 6 s more.
  CHECK(progress_line({SimTime(3'502'000'000'000), 250, 1000}, 2.0) ==
        "25 %, simulated 58 min 22 s, 250 of 1,000 requests, 6 s left");
  CHECK(progress_line({SimTime(0), 0, 1000}, 2.0) == "0 %, simulated 0 s, 0 of 1,000 requests");
}

TEST_CASE("without a known number of requests there is neither share nor time left") {
  CHECK(progress_line({SimTime(1'000'000'000), 12'345, std::nullopt}, 2.0) == "simulated 1 s, 12,345 requests");
}

TEST_CASE("a share never shows 100 % before the end") {
  CHECK(progress_line({SimTime(0), 9999, 10'000}, 1.0).starts_with("99 %"));
}

TEST_CASE("on a terminal the line comes after a second, five times a second at most, and is erased") {
  Shown shown;
  {
    Progress progress(shown.streams(true), "", shown.clock());
    shown.now += 990ms;
    progress.update({SimTime(0), 1, 100});
    CHECK(shown.err.str().empty());
    for (int i = 0; i < 1000; ++i) {  // from 0.991 s to 1.990 s
      shown.now += 1ms;
      progress.update({SimTime(0), 1, 100});
    }
    CHECK(shown.count(kErase) == 5);
    CHECK(shown.count("\n") == 0);
  }
  CHECK(shown.err.str().ends_with(kErase));
  CHECK(shown.out.str().empty());
}

TEST_CASE("a short run shows nothing, not even an erased line") {
  Shown shown;
  {
    Progress progress(shown.streams(true), "", shown.clock());
    progress.update({SimTime(0), 1, 100});
  }
  CHECK(shown.err.str().empty());
}

TEST_CASE("elsewhere there are plain lines, one in 10 s at most") {
  Shown shown;
  {
    Progress progress(shown.streams(false), "block_size=16", shown.clock());
    for (int i = 0; i < 250; ++i) {  // 25 s
      shown.now += 100ms;
      progress.update({SimTime(0), 1, 100});
    }
  }
  CHECK(shown.count("\n") == 2);
  CHECK(shown.count("block_size=16: 1 %") == 2);
  CHECK(shown.count("\x1b") == 0);
}
