// Which of a trace's numbers (sessions) have been seen. Memory: a bit a number up to 2^26, a node a number beyond.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_set>
#include <vector>

namespace blockyard::workload {

class SeenNames {
 public:
  // Is it new? It is not any more.
  bool add(std::uint32_t name) {
    if (name >= kDense) return sparse_.insert(name).second;
    if (name >= dense_.size()) dense_.resize(2 * std::size_t{name} + 64);
    const bool is_new = !dense_[name];
    dense_[name] = true;
    return is_new;
  }

 private:
  static constexpr std::uint32_t kDense = 1U << 26;
  std::vector<bool> dense_;
  std::unordered_set<std::uint32_t> sparse_;
};

}  // namespace blockyard::workload
