#include "sim/workload/keyed_ids.h"

#include <sodium.h>

#include <cstring>

#include "sim/base/check.h"

namespace blockyard::workload {
namespace {

constexpr int kHalfBlockBits = 19;
constexpr int kHalfNameBits = 16;
constexpr unsigned char kRounds = 8;

}  // namespace

KeyedIds::KeyedIds(std::string_view key) {
  static_assert(crypto_shorthash_KEYBYTES == 16);
  CHECK_LAW(sodium_init() >= 0, "libsodium does not start");
  crypto_generichash(key_.data(), key_.size(), reinterpret_cast<const unsigned char*>(key.data()), key.size(), nullptr,
                     0);
}

std::uint64_t KeyedIds::permuted(Kind kind, std::uint64_t value, int half_bits) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits) - 1;
  std::uint64_t left = value >> half_bits;
  std::uint64_t right = value & mask;
  for (unsigned char round = 0; round < kRounds; ++round) {
    std::array<unsigned char, 10> message{static_cast<unsigned char>(kind), round};
    std::memcpy(message.data() + 2, &right, sizeof right);
    std::array<unsigned char, crypto_shorthash_BYTES> hash{};
    crypto_shorthash(hash.data(), message.data(), message.size(), key_.data());
    std::uint64_t mixed = 0;
    std::memcpy(&mixed, hash.data(), sizeof mixed);
    const std::uint64_t next = left ^ (mixed & mask);
    left = right;
    right = next;
  }
  return left << half_bits | right;
}

std::int64_t KeyedIds::block(std::int64_t id) const {
  CHECK_LAW(id >= 0 && id < std::int64_t{1} << (2 * kHalfBlockBits), "block id {}", id);
  return static_cast<std::int64_t>(permuted(Kind::block, static_cast<std::uint64_t>(id), kHalfBlockBits));
}

std::uint32_t KeyedIds::name(Kind kind, std::uint32_t id) const {
  if (id == 0) return 0;
  std::uint64_t value = id;
  do {
    value = permuted(kind, value, kHalfNameBits);  // what becomes 0 goes on to what 0 becomes
  } while (value == 0);
  return static_cast<std::uint32_t>(value);
}

}  // namespace blockyard::workload
