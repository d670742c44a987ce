#include "sim/study/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace blockyard::study {

void for_each_index(std::size_t count, std::size_t jobs, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> failures(count);
  std::atomic<std::size_t> next = 0;
  std::atomic<bool> failed = false;
  // Pieces are taken in order and a taken piece is always done, so every piece before a failing one tells its own
  // failure.
  const auto worker = [&] {
    while (!failed) {
      const std::size_t index = next++;
      if (index >= count) return;
      try {
        work(index);
      } catch (...) {
        failures[index] = std::current_exception();
        failed = true;
      }
    }
  };
  {
    std::vector<std::jthread> threads;
    const std::size_t others = std::min(jobs, count);
    for (std::size_t i = 1; i < others; ++i) threads.emplace_back(worker);
    worker();
  }
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

}  // namespace blockyard::study
