// Requests from memory, and back into it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "sim/workload/request.h"

namespace blockyard::workload {

// The caller keeps the list in order of arrival.
class ListSource final : public RequestSource {
 public:
  explicit ListSource(std::vector<Request> requests) : requests_(std::move(requests)) {}

  std::size_t read(std::span<Request> out) override {
    const std::size_t count = std::min(out.size(), requests_.size() - next_);
    std::copy_n(requests_.begin() + static_cast<std::ptrdiff_t>(next_), count, out.begin());
    next_ += count;
    return count;
  }

 private:
  std::vector<Request> requests_;
  std::size_t next_ = 0;
};

[[nodiscard]] inline std::vector<Request> read_all(RequestSource& source) {
  std::vector<Request> all;
  std::array<Request, 256> some;
  while (const std::size_t count = source.read(some))
    all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
  return all;
}

}  // namespace blockyard::workload
