#include "sim/workload/joint_lengths.h"

#include <algorithm>
#include <cmath>

namespace blockyard::workload {

void JointLengths::add(std::span<const Request> requests) {
  for (const Request& request : requests) {
    const auto above = std::ranges::upper_bound(kLeast, std::max<std::int64_t>(request.prompt_tokens.count(), 1));
    LengthClass& length_class = classes_[static_cast<std::size_t>(above - kLeast.begin()) - 1];
    ++length_class.requests;
    length_class.prompt_tokens += request.prompt_tokens;
    length_class.output_tokens += request.output_tokens;
    if (limit_ > Tokens(0)) {
      if (request.prompt_tokens >= limit_) ++over_.prompt;
      if (request.prompt_tokens + request.output_tokens > limit_) ++over_.total;
      if (request.prompt_tokens + request.max_tokens > limit_) ++over_.declared;
    }
    if (request.output_tokens == Tokens(0)) continue;  // prefill only: no logarithm
    const double x = std::log(static_cast<double>(request.prompt_tokens.count()));
    const double y = std::log(static_cast<double>(request.output_tokens.count()));
    count_ += 1;
    const double dx = x - mean_x_;
    const double dy = y - mean_y_;
    mean_x_ += dx / count_;
    mean_y_ += dy / count_;
    xx_ += dx * (x - mean_x_);
    yy_ += dy * (y - mean_y_);
    xy_ += dx * (y - mean_y_);
  }
}

double JointLengths::correlation() const {
  constexpr double kSameness = 1e-12;
  if (xx_ <= kSameness * count_ || yy_ <= kSameness * count_) return 0;
  return xy_ / std::sqrt(xx_ * yy_);
}

}  // namespace blockyard::workload
