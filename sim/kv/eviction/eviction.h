// A policy as the serving loop sees it: the calls of policy.h, each for a span of blocks, so that a virtual call is
// paid once a request, not once a block.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/check.h"
#include "sim/kv/eviction/policy.h"

namespace blockyard::kv {

class Eviction {
 public:
  struct Entry {
    BlockId slot = kNoBlock;
    Reference reference;
  };

  Eviction() = default;
  Eviction(const Eviction&) = delete;
  Eviction& operator=(const Eviction&) = delete;
  virtual ~Eviction() = default;

  virtual void enter(std::span<const Entry> blocks) = 0;  // missed, then insert, of each
  virtual void hit(std::span<const Entry> blocks) = 0;
  virtual void hold(std::span<const BlockId> blocks) = 0;
  virtual void let_go(std::span<const BlockId> blocks) = 0;
  virtual void evict(std::size_t count, std::vector<BlockId>& out) = 0;  // appends; that many are not held
  // Appends the blocks whose time is over: those of policies that know of time.
  virtual void expire(SimTime now, std::vector<BlockId>& out) = 0;
  // Contents that waiting requests will ask for: to policies that look at the queue.
  virtual void want(std::span<const std::uint64_t> keys) = 0;
  virtual void unwant(std::span<const std::uint64_t> keys) = 0;
};

template <class Policy>
class EvictionOf final : public Eviction {
 public:
  explicit EvictionOf(const PolicyOptions& options) : policy_(options) {}

  void enter(std::span<const Entry> blocks) override {
    for (const Entry& block : blocks) {
      policy_.missed(block.reference);
      policy_.insert(block.slot, block.reference);
    }
  }
  void hit(std::span<const Entry> blocks) override {
    for (const Entry& block : blocks) policy_.hit(block.slot, block.reference);
  }
  void hold(std::span<const BlockId> blocks) override {
    for (const BlockId slot : blocks) policy_.hold(slot);
  }
  void let_go(std::span<const BlockId> blocks) override {
    for (const BlockId slot : blocks) policy_.let_go(slot);
  }
  void evict(std::size_t count, std::vector<BlockId>& out) override {
    for (; count > 0; --count) {
      out.push_back(policy_.evict());
      CHECK_LAW(out.back() != kNoBlock, "asked for {} blocks more than can be evicted", count);
    }
  }
  void expire(SimTime now, std::vector<BlockId>& out) override {
    if constexpr (requires { policy_.expire(now); }) {
      for (BlockId slot = policy_.expire(now); slot != kNoBlock; slot = policy_.expire(now)) out.push_back(slot);
    }
  }
  void want(std::span<const std::uint64_t> keys) override {
    if constexpr (requires { policy_.want(keys.front()); }) {
      for (const std::uint64_t key : keys) policy_.want(key);
    }
  }
  void unwant(std::span<const std::uint64_t> keys) override {
    if constexpr (requires { policy_.unwant(keys.front()); }) {
      for (const std::uint64_t key : keys) policy_.unwant(key);
    }
  }

 private:
  Policy policy_;
};

}  // namespace blockyard::kv
