// How often keys were asked for lately, about: a count-min sketch of four rows of 4-bit counters, each row with the
// power of two at or above `capacity` of them; every 10 x capacity keys all counters are halved. Never too low (before
// a halving), too high where keys collide in all four rows. O(1) a key; 2 to 4 bytes for each block of capacity.
// Source: Einziger, Friedman & Manes, "TinyLFU", ACM Transactions on Storage 2017 (reset method, without its
// doorkeeper).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace blockyard::kv {

class FrequencySketch {
 public:
  explicit FrequencySketch(std::int64_t capacity)
      : mask_(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(capacity, 16))) - 1),
        sample_(10 * std::max<std::int64_t>(capacity, 1)),
        words_(kRows * (mask_ + 1) / kCountersAWord) {}

  void add(std::uint64_t key) {
    for (std::uint64_t row = 0; row < kRows; ++row) {
      const Place place = place_of(key, row);
      const std::uint64_t count = (words_[place.word] >> place.shift) & kLargest;
      if (count < kLargest) words_[place.word] += std::uint64_t{1} << place.shift;
    }
    if (++added_ == sample_) halve();
  }
  [[nodiscard]] std::uint64_t count(std::uint64_t key) const {
    std::uint64_t least = kLargest;
    for (std::uint64_t row = 0; row < kRows; ++row) {
      const Place place = place_of(key, row);
      least = std::min(least, (words_[place.word] >> place.shift) & kLargest);
    }
    return least;
  }

 private:
  static constexpr std::uint64_t kRows = 4;
  static constexpr std::uint64_t kCountersAWord = 16;
  static constexpr std::uint64_t kLargest = 15;
  static constexpr std::uint64_t kHalves = 0x7777777777777777ULL;
  struct Place {
    std::size_t word;
    unsigned shift;
  };

  [[nodiscard]] Place place_of(std::uint64_t key, std::uint64_t row) const {
    std::uint64_t hash = (key + row + 1) * 0x9e3779b97f4a7c15ULL;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9ULL;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebULL;
    const std::uint64_t counter = row * (mask_ + 1) + ((hash ^ (hash >> 31)) & mask_);
    return {counter / kCountersAWord, static_cast<unsigned>(4 * (counter % kCountersAWord))};
  }
  void halve() {
    for (std::uint64_t& word : words_) word = (word >> 1) & kHalves;
    added_ /= 2;
  }

  std::uint64_t mask_;
  std::int64_t sample_;
  std::int64_t added_ = 0;
  std::vector<std::uint64_t> words_;
};

}  // namespace blockyard::kv
