// Random numbers that are the same on every platform: xoshiro256** (Blackman & Vigna, ACM TOMS 2021) seeded by
// SplitMix64 from the scenario's seed and the stream's name. One named stream a purpose ("arrivals", "prompt_tokens",
// ...), so that drawing more of one never shifts another. Distributions are written out, since the standard library's
// differ between vendors. All O(1) a draw.
#pragma once

#include <cstdint>
#include <string_view>

namespace blockyard {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose);

  std::uint64_t next();                                       // uniform over 64 bits
  double uniform();                                           // [0, 1), 53 bits
  std::int64_t integer(std::int64_t low, std::int64_t high);  // uniform over low..high, both included; unbiased
  double exponential(double mean);                            // inverse transform
  double normal();                                            // Marsaglia's polar method
  double lognormal(double mean, double cv);                   // by the mean and coefficient of variation of the result
  double gamma(double shape, double scale);                   // Marsaglia & Tsang, ACM TOMS 2000

 private:
  std::uint64_t state_[4];
  double spare_normal_ = 0;
  bool has_spare_normal_ = false;
};

}  // namespace blockyard
