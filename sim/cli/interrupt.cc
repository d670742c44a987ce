#include "sim/cli/interrupt.h"

#include <atomic>
#include <cstddef>

namespace blockyard::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};
std::atomic<bool> flag = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may write no other kind");

void raise_flag(int) {
  flag = true;
  for (const int number : kSignals) {
    struct sigaction kill{};
    kill.sa_handler = SIG_DFL;
    sigaction(number, &kill, nullptr);
  }
}

}  // namespace

Interrupt::Interrupt() {
  flag = false;
  struct sigaction action{};
  action.sa_handler = raise_flag;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // a read that blocks comes back (workload/byte_source.cc), instead of going on for ever
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &before_[i], nullptr);
}

bool Interrupt::raised() const { return flag; }

}  // namespace blockyard::cli
