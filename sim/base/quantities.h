// Quantities with types: a number of tokens is not a number of blocks. Each is a 64-bit integer; nothing converts by
// itself. SimTime serves as a point (since the start of the run) and as a span, in integer nanoseconds; 64 bits hold
// 292 years. Models compute in Seconds (double); to_time() rounds once, half away from zero.
#pragma once

#include <cmath>
#include <compare>
#include <cstdint>

namespace blockyard {

template <class Tag>
class Quantity {
 public:
  constexpr Quantity() = default;
  explicit constexpr Quantity(std::int64_t count) : count_(count) {}

  [[nodiscard]] constexpr std::int64_t count() const { return count_; }

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    count_ -= other.count_;
    return *this;
  }
  constexpr Quantity& operator++() {
    ++count_;
    return *this;
  }
  constexpr Quantity& operator--() {
    --count_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return Quantity(a.count_ + b.count_); }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return Quantity(a.count_ - b.count_); }
  friend constexpr Quantity operator-(Quantity a) { return Quantity(-a.count_); }
  friend constexpr Quantity operator*(Quantity a, std::int64_t k) { return Quantity(a.count_ * k); }
  friend constexpr Quantity operator*(std::int64_t k, Quantity a) { return Quantity(a.count_ * k); }

 private:
  std::int64_t count_ = 0;
};

using Tokens = Quantity<struct TokensTag>;
using Blocks = Quantity<struct BlocksTag>;
using Bytes = Quantity<struct BytesTag>;
using SimTime = Quantity<struct SimTimeTag>;  // nanoseconds

using Seconds = double;

inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
inline constexpr SimTime kNever{INT64_MAX};

[[nodiscard]] inline SimTime to_time(Seconds seconds) { return SimTime(std::llround(seconds * 1e9)); }
[[nodiscard]] constexpr Seconds to_seconds(SimTime time) { return static_cast<double>(time.count()) / 1e9; }

// The only rounding from tokens to blocks: ceil(tokens / block_size). tokens >= 0, block_size > 0.
[[nodiscard]] constexpr Blocks blocks_for(Tokens tokens, Tokens block_size) {
  return Blocks((tokens.count() + block_size.count() - 1) / block_size.count());
}

}  // namespace blockyard
