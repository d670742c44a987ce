// Names of a trace (block ids, sessions, tenants, shared beginnings) replaced by others that only who has the key could
// lay beside the first ones: a keyed permutation, so that equal stays equal, different stays different, and no two
// names meet. How: a Feistel network of 8 rounds whose round function is SipHash-2-4 (libsodium; Aumasson and
// Bernstein, 2012), under a key that is BLAKE2b of the user's. A plain keyed hash would have to be cut to the numbers a
// trace can hold, and would meet itself. Times, lengths and names of categories stay as they are: they can tell who a
// trace is of. O(1) a name.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace blockyard::workload {

class KeyedIds {
 public:
  enum class Kind : std::uint8_t { block, session, tenant, prefix };

  explicit KeyedIds(std::string_view key);

  [[nodiscard]] std::int64_t block(std::int64_t id) const;  // 0 to 2^38 - 1, likewise the result
  // 0 says "none" and stays 0; nothing else becomes 0.
  [[nodiscard]] std::uint32_t name(Kind kind, std::uint32_t id) const;

 private:
  [[nodiscard]] std::uint64_t permuted(Kind kind, std::uint64_t value, int half_bits) const;

  std::array<unsigned char, 16> key_{};
};

}  // namespace blockyard::workload
