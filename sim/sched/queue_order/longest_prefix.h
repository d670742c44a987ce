// Longest cached prefix first; of equal ones the first to arrive. Lengths are those at the moment of scheduling: they
// are looked up before a step's admissions, all of which follow them. What counts is on the GPU: a prefix that a tier
// below holds does not, KV that a preempted request kept or has on the host does. While more than kMostLooked requests
// wait they go in order of arrival. Preempted requests go back to their own place, and without a prefix cache the order
// is that of arrival.
// A request that shares nothing is overtaken for as long as no more than kMostLooked wait and others with a cached
// prefix keep coming.
// Source: SGLang's "lpm" (Zheng et al., NeurIPS 2024, sec. 3; the bound of 128 from its
// srt/managers/schedule_policy.py), which also puts off requests whose prefix one before them is about to compute: here
// a block is found as soon as it is planned, so that they share it. Cost: O(log n) a call, but for remove: O(n). A step
// in which no block of a waiting request's chain comes or goes: O(1), else O(kMostLooked x forks of a chain), and a
// lookup, O(blocks found), of each whose chain it was.
#pragma once

#include "sim/sched/queue_order/keyed.h"

namespace blockyard::sched {

class LongestPrefix final : public Keyed {
 public:
  static constexpr std::int64_t kMostLooked = 128;

  explicit LongestPrefix(const QueueOptions& options) : prefixes_(options.prefixes) {}

  void push(const Waiting& waiting) override {
    Keyed::push(waiting);
    someone_new_ = true;
  }
  bool look_again() override {
    const bool looks = prefixes_ != nullptr && size() <= kMostLooked;
    const bool stale = looks ? someone_new_ || !looked_ || seen_ != prefixes_->changes() : looked_;
    if (size() == 0 || !stale) return false;
    const RequestId before = front().id;
    change_all([&](Waiting& waiting) { waiting.cached = looks ? prefixes_->cached_prefix(waiting) : Tokens(0); });
    looked_ = looks;
    someone_new_ = false;
    seen_ = looks ? prefixes_->changes() : 0;
    return front().id != before;
  }

 private:
  [[nodiscard]] std::int64_t key(const Waiting& waiting) const override { return -waiting.cached.count(); }

  CachedPrefixes* prefixes_;
  bool someone_new_ = false;
  bool looked_ = false;  // the last time; else all stand by their arrival
  std::uint64_t seen_ = 0;
};

}  // namespace blockyard::sched
