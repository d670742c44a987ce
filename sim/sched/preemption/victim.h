// Who is preempted when memory runs out: the contract of every choice of victim. A policy ranks a running sequence by
// what can be known of it; the one of the highest rank goes, of equals the last of the running list. Law: a rank
// depends on the candidate alone, so that the order in which candidates are looked at does not matter.
//
// Cost: a rank a running sequence in each preemption, nothing in any other step.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string_view>

#include "sim/base/named.h"
#include "sim/base/quantities.h"
#include "sim/workload/request.h"

namespace blockyard::sched {

struct Candidate {
  const workload::Request* request = nullptr;
  std::int64_t grains = 0;  // of KV memory that it holds: blocks, slots of its region
  Tokens computed;
  Tokens remaining;  // output tokens still to come, which only a simulator knows
  SimTime restore;   // until it would have its computed length back, if it went now; 0 unless the policy asks for it
};

// The highest goes; `second` decides between equals.
struct Rank {
  std::int64_t first = 0;
  std::int64_t second = 0;
  auto operator<=>(const Rank&) const = default;
};

class VictimPolicy {
 public:
  VictimPolicy() = default;
  VictimPolicy(const VictimPolicy&) = delete;
  VictimPolicy& operator=(const VictimPolicy&) = delete;
  virtual ~VictimPolicy() = default;

  [[nodiscard]] virtual Rank rank(const Candidate& candidate) const = 0;
  [[nodiscard]] virtual bool asks_for_restore_time() const { return false; }
};

// The names that a scenario may use. `engine` is no policy but the scheduler's own rule: nullptr.
[[nodiscard]] NameDocs victims();
[[nodiscard]] std::unique_ptr<VictimPolicy> make_victim_policy(std::string_view name);

}  // namespace blockyard::sched
