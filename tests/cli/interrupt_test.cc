#include "sim/cli/interrupt.h"

#include <catch2/catch.hpp>
#include <csignal>

using namespace blockyard::cli;

namespace {

using Handler = void (*)(int);

Handler handler_of(int number) {
  struct sigaction action{};
  sigaction(number, nullptr, &action);
  return action.sa_handler;
}

}  // namespace

TEST_CASE("the first signal raises the flag, a second one would kill") {
  for (const int number : {SIGINT, SIGTERM}) {
    const Interrupt interrupt;
    CHECK_FALSE(interrupt.raised());
    CHECK(handler_of(number) != SIG_DFL);
    std::raise(number);
    CHECK(interrupt.raised());
    CHECK(handler_of(SIGINT) == SIG_DFL);
    CHECK(handler_of(SIGTERM) == SIG_DFL);
  }
}

TEST_CASE("the handlers of before come back") {
  const Handler before = handler_of(SIGINT);
  {
    const Interrupt interrupt;
    CHECK(handler_of(SIGINT) != before);
  }
  CHECK(handler_of(SIGINT) == before);
}

TEST_CASE("a signal that was ignored stays ignored") {
  const Handler before = std::signal(SIGINT, SIG_IGN);
  {
    const Interrupt interrupt;
    std::raise(SIGINT);
    CHECK_FALSE(interrupt.raised());
  }
  std::signal(SIGINT, before);
}
