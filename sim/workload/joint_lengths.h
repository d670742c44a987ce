// How the two lengths of requests go together: what marginal percentiles do not say. Prompts in classes of a factor of
// 4 (1-255, 256-1023, ..., 65,536 and more): how many, and how long their outputs are; and Pearson's correlation of the
// logarithms of prompt and output. And how many requests a limit on the context would turn away or cut. O(1) a request.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "sim/workload/request.h"

namespace blockyard::workload {

struct LengthClass {
  std::int64_t requests = 0;
  Tokens prompt_tokens;
  Tokens output_tokens;
};

// Requests that do not fit a context of max_model_len tokens, as an engine counts.
struct OverLimit {
  std::int64_t prompt = 0;    // prompt >= limit: refused, there is no room for an output token
  std::int64_t total = 0;     // prompt + output > limit: these and those that are cut
  std::int64_t declared = 0;  // prompt + max_tokens > limit: refused by an engine that checks what is declared
};

class JointLengths {
 public:
  static constexpr std::size_t kClasses = 6;
  static constexpr std::array<std::int64_t, kClasses> kLeast{1, 256, 1024, 4096, 16384, 65536};

  explicit JointLengths(Tokens max_model_len = Tokens(0)) : limit_(max_model_len) {}  // 0 = no limit

  void add(std::span<const Request> requests);
  [[nodiscard]] const std::array<LengthClass, kClasses>& classes() const { return classes_; }
  [[nodiscard]] double correlation() const;  // 0 where one of them does not vary
  [[nodiscard]] const OverLimit& over_limit() const { return over_; }

 private:
  Tokens limit_;
  std::array<LengthClass, kClasses> classes_{};
  OverLimit over_;
  double count_ = 0;  // running means and sums of squared deviations of the logarithms (Welford)
  double mean_x_ = 0;
  double mean_y_ = 0;
  double xx_ = 0;
  double yy_ = 0;
  double xy_ = 0;
};

}  // namespace blockyard::workload
