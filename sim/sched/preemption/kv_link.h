// The way of KV to the host and back as a scheduler sees it: it begins copies and is told when they will have ended.
// Serving knows the link (sim/serving/swap_path.h).
#pragma once

#include <cstdint>

#include "sim/base/quantities.h"

namespace blockyard::sched {

struct Copy {
  Blocks blocks;            // of the host pool
  std::int64_t pieces = 0;  // stretches of GPU memory, each copied on its own
};

class KvLink {
 public:
  KvLink() = default;
  KvLink(const KvLink&) = delete;
  KvLink& operator=(const KvLink&) = delete;
  virtual ~KvLink() = default;

  // A copy that may begin at `now`, behind those begun before it; returns its end.
  virtual SimTime begin_out(SimTime now, const Copy& copy) = 0;
  virtual SimTime begin_in(SimTime now, const Copy& copy) = 0;
};

}  // namespace blockyard::sched
