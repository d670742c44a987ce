#include "sim/workload/trace_statistics.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "sim/base/check.h"

namespace blockyard::workload {
namespace {

constexpr std::int64_t kDenseLengths = std::int64_t{1} << 20;

}  // namespace

void LengthCounts::add(Tokens length) {
  const std::int64_t n = length.count();
  CHECK_LAW(n >= 0, "length {}", n);
  ++count_;
  sum_ += length;
  if (n >= kDenseLengths) {
    ++sparse_[n];
    return;
  }
  const std::size_t index = static_cast<std::size_t>(n);
  if (index >= dense_.size()) dense_.resize(std::max<std::size_t>(index + 1, 2 * dense_.size()));
  ++dense_[index];
}

// Linear interpolation at rank fraction * (count - 1) between the two order statistics around it.
double LengthCounts::percentile(double fraction) const {
  const double rank = fraction * static_cast<double>(count_ - 1);
  const std::int64_t below = static_cast<std::int64_t>(std::floor(rank));
  std::int64_t seen = 0;
  std::int64_t low = -1;
  double value = 0;
  const auto visit = [&](std::int64_t length, std::int64_t times) {
    seen += times;
    if (low < 0 && seen > below) {
      low = length;
      value = static_cast<double>(low);
    }
    if (seen <= below + 1) return false;
    value += (rank - static_cast<double>(below)) * static_cast<double>(length - low);
    return true;
  };
  for (std::size_t i = 0; i < dense_.size(); ++i) {
    if (dense_[i] > 0 && visit(static_cast<std::int64_t>(i), dense_[i])) return value;
  }
  for (const auto& [length, times] : sparse_) {
    if (visit(length, times)) return value;
  }
  return value;
}

LengthStatistics LengthCounts::statistics() const {
  LengthStatistics result;
  if (count_ == 0) return result;
  result.sum = sum_;
  result.mean = static_cast<double>(sum_.count()) / static_cast<double>(count_);
  result.p50 = percentile(0.5);
  result.p90 = percentile(0.9);
  result.p99 = percentile(0.99);
  result.min = Tokens(static_cast<std::int64_t>(percentile(0)));
  result.max = Tokens(static_cast<std::int64_t>(percentile(1)));
  return result;
}

void WindowCounts::add(SimTime since_first) {
  const std::int64_t window = since_first.count() / width_.count();
  if (window != window_) {
    sum_of_squares_ += static_cast<double>(in_window_) * static_cast<double>(in_window_);
    peak_ = std::max(peak_, in_window_);
    window_ = window;
    in_window_ = 0;
  }
  ++in_window_;
  ++total_;
}

double WindowCounts::dispersion() const {
  if (total_ == 0) return 0;
  const double windows = static_cast<double>(window_ + 1);
  const double mean = static_cast<double>(total_) / windows;
  const double squares = sum_of_squares_ + static_cast<double>(in_window_) * static_cast<double>(in_window_);
  return (squares / windows - mean * mean) / mean;
}

std::int64_t WindowCounts::peak() const { return std::max(peak_, in_window_); }

void TraceMeter::add(std::span<const Request> requests) {
  for (const Request& request : requests) {
    if (requests_ == 0) {
      first_ = request.arrival;
      distinct_ = 1;
    } else {
      const SimTime gap = request.arrival - last_;
      CHECK_LAW(gap >= SimTime(0), "arrival {} ns after {} ns", request.arrival.count(), last_.count());
      if (gap > SimTime(0)) ++distinct_;
      largest_gap_ = std::max(largest_gap_, gap);
      const double deviation = static_cast<double>(gap.count()) - gap_mean_;
      gap_mean_ += deviation / static_cast<double>(requests_);
      gap_deviation_ += deviation * (static_cast<double>(gap.count()) - gap_mean_);
    }
    last_ = request.arrival;
    ++requests_;
    seconds_.add(request.arrival - first_);
    minutes_.add(request.arrival - first_);
    prompt_.add(request.prompt_tokens);
    output_.add(request.output_tokens);
    max_total_ = std::max(max_total_, request.prompt_tokens + request.output_tokens);
  }
}

TraceStatistics TraceMeter::statistics() const {
  TraceStatistics result;
  result.requests = requests_;
  result.span = last_ - first_;
  result.largest_gap = largest_gap_;
  result.distinct_arrivals = distinct_;
  if (result.span > SimTime(0)) {
    const double gaps = static_cast<double>(requests_ - 1);
    result.rate_per_s = gaps / to_seconds(result.span);
    result.gap_cv = std::sqrt(gap_deviation_ / gaps) / gap_mean_;
  }
  result.dispersion_1s = seconds_.dispersion();
  result.dispersion_60s = minutes_.dispersion();
  result.peak_in_1s = seconds_.peak();
  result.prompt_tokens = prompt_.statistics();
  result.output_tokens = output_.statistics();
  result.max_total = max_total_;
  return result;
}

TraceStatistics measure(RequestSource& source) {
  TraceMeter meter;
  std::array<Request, 256> requests;
  while (const std::size_t count = source.read(requests)) meter.add(std::span(requests).first(count));
  return meter.statistics();
}

}  // namespace blockyard::workload
