#include "sim/study/parallel.h"

#include <atomic>
#include <catch2/catch.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

using blockyard::study::for_each_index;

TEST_CASE("every piece is done once, whatever the number of threads") {
  for (const std::size_t jobs : {0U, 1U, 2U, 7U, 100U}) {
    std::vector<std::atomic<int>> done(50);
    for_each_index(done.size(), jobs, [&](std::size_t index) { ++done[index]; });
    for (const auto& count : done) REQUIRE(count == 1);
  }
}

TEST_CASE("one job works in turn, on the caller's thread") {
  std::vector<std::size_t> order;
  const std::thread::id caller = std::this_thread::get_id();
  for_each_index(5, 1, [&](std::size_t index) {
    REQUIRE(std::this_thread::get_id() == caller);
    order.push_back(index);
  });
  REQUIRE(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE("never more pieces at a time than jobs") {
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  for_each_index(60, 3, [&](std::size_t) {
    const int now = ++running;
    int before = most;
    while (before < now && !most.compare_exchange_weak(before, now)) {
    }
    std::this_thread::yield();
    --running;
  });
  REQUIRE(most >= 1);
  REQUIRE(most <= 3);
}

TEST_CASE("of several failures the first by index is thrown") {
  for (const std::size_t jobs : {1U, 4U}) {
    REQUIRE_THROWS_WITH(for_each_index(20, jobs,
                                       [](std::size_t index) {
                                         if (index >= 3) throw std::runtime_error(std::to_string(index));
                                       }),
                        "3");
  }
}

TEST_CASE("after a failure no new piece begins") {
  int begun = 0;
  REQUIRE_THROWS(for_each_index(20, 1, [&](std::size_t) {
    ++begun;
    throw std::runtime_error("no");
  }));
  REQUIRE(begun == 1);
}
