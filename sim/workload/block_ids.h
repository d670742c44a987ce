// Ids of prompt blocks of a trace that names them by hashes (of 64 bits, or text), or by numbers that mean something
// within one session only: dense numbers from 0, in order of first sight. Memory: the distinct ids.
#pragma once

#include <cstdint>
#include <unordered_map>

namespace blockyard::workload {

class BlockIds {
 public:
  std::int64_t of(std::uint64_t hash, std::uint32_t session = 0) {
    const auto [at, is_new] = ids_.try_emplace({hash, session}, static_cast<std::int64_t>(ids_.size()));
    return at->second;
  }

 private:
  struct Key {
    std::uint64_t hash;
    std::uint32_t session;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const {
      std::uint64_t x = key.hash ^ (key.session * std::uint64_t{0x9e3779b97f4a7c15});
      x = (x ^ (x >> 32)) * std::uint64_t{0xd6e8feb86659fd93};
      return x ^ (x >> 32);
    }
  };
  std::unordered_map<Key, std::int64_t, Hash> ids_;
};

}  // namespace blockyard::workload
