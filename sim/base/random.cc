#include "sim/base/random.h"

#include <bit>
#include <cmath>

#include "sim/base/check.h"

namespace blockyard {
namespace {

std::uint64_t split_mix(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

RandomStream::RandomStream(std::uint64_t seed, std::string_view purpose) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a of the purpose
  for (const char c : purpose) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  std::uint64_t mix = seed;
  std::uint64_t start = split_mix(mix) ^ hash;
  for (std::uint64_t& word : state_) word = split_mix(start);
}

std::uint64_t RandomStream::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t t = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= t;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double RandomStream::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::int64_t RandomStream::integer(std::int64_t low, std::int64_t high) {
  CHECK_LAW(low <= high, "low {}, high {}", low, high);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (range == 0) return static_cast<std::int64_t>(next());
  const std::uint64_t limit = UINT64_MAX - UINT64_MAX % range;
  std::uint64_t draw = next();
  while (draw >= limit) draw = next();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + draw % range);
}

double RandomStream::exponential(double mean) { return -mean * std::log1p(-uniform()); }

double RandomStream::normal() {
  if (has_spare_normal_) {
    has_spare_normal_ = false;
    return spare_normal_;
  }
  for (;;) {
    const double u = 2 * uniform() - 1;
    const double v = 2 * uniform() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) {
      const double factor = std::sqrt(-2 * std::log(s) / s);
      spare_normal_ = v * factor;
      has_spare_normal_ = true;
      return u * factor;
    }
  }
}

double RandomStream::lognormal(double mean, double cv) {
  const double variance = std::log1p(cv * cv);
  return std::exp(std::log(mean) - variance / 2 + std::sqrt(variance) * normal());
}

double RandomStream::gamma(double shape, double scale) {
  if (shape < 1) {
    const double boosted = gamma(shape + 1, scale);
    return boosted * std::pow(1 - uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal();
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    const double u = 1 - uniform();
    if (std::log(u) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

}  // namespace blockyard
