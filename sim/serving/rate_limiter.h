// A token bucket a tenant, as gateways in front of an engine have: each bucket fills at its rate up to `burst` seconds'
// worth and starts full; a request takes one from the bucket of requests and prompt + max_tokens (what it declares, for
// what it will generate is not known) from the bucket of tokens. It is let in if each bucket holds what it takes, or is
// full where that is more than it ever holds; the bucket then owes the rest. Who is turned away takes nothing.
// O(1) a request; memory O(tenants).
#pragma once

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "sim/workload/request.h"

namespace blockyard::serving {

struct RateLimit {
  std::optional<double> requests_per_s;
  std::optional<double> tokens_per_s;
  Seconds burst_s = 1;
};

class RateLimiter {
 public:
  explicit RateLimiter(const RateLimit& limit) : limit_(limit) {}

  // True if the request is let in, and then charged. Requests come in order of arrival.
  bool admit(const workload::Request& request) {
    if (!limit_.requests_per_s && !limit_.tokens_per_s) return true;
    Tenant& tenant = tenants_[request.tenant];
    const auto tokens = static_cast<double>((request.prompt_tokens + request.max_tokens).count());
    if (limit_.requests_per_s && !tenant.requests.holds(1, size(*limit_.requests_per_s), request.arrival)) return false;
    if (limit_.tokens_per_s && !tenant.tokens.holds(tokens, size(*limit_.tokens_per_s), request.arrival)) return false;
    if (limit_.requests_per_s) tenant.requests.take(1, size(*limit_.requests_per_s), request.arrival);
    if (limit_.tokens_per_s) tenant.tokens.take(tokens, size(*limit_.tokens_per_s), request.arrival);
    return true;
  }

 private:
  struct Size {
    double rate = 0;  // a second
    double most = 0;
  };
  class Bucket {
   public:
    [[nodiscard]] bool holds(double wanted, const Size& size, SimTime now) const {
      return level(size, now) + forgiven(size) >= std::min(wanted, size.most);
    }
    void take(double wanted, const Size& size, SimTime now) {
      level_ = level(size, now) - wanted;
      changed_ = now;
    }

   private:
    // Arrivals are rounded to the nanosecond: who comes just at the rate is let in.
    static double forgiven(const Size& size) { return 1e-6 + size.rate * 1e-9; }
    [[nodiscard]] double level(const Size& size, SimTime now) const {
      return changed_ == kNever ? size.most : std::min(size.most, level_ + size.rate * to_seconds(now - changed_));
    }
    double level_ = 0;
    SimTime changed_ = kNever;  // when something was taken last
  };
  struct Tenant {
    Bucket requests;
    Bucket tokens;
  };

  [[nodiscard]] Size size(double rate) const { return {rate, std::max(1.0, rate * limit_.burst_s)}; }

  RateLimit limit_;
  std::unordered_map<std::uint32_t, Tenant> tenants_;  // looked up alone, never walked
};

}  // namespace blockyard::serving
