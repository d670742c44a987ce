// Where the allocators learn what a request says.
#pragma once

#include <cstdint>

#include "sim/base/content.h"
#include "sim/base/ids.h"

namespace blockyard::kv {

// What else of a request prefix caching cares for.
struct ContentOrigin {
  std::uint32_t session = 0;   // 0 = none
  std::uint32_t category = 0;  // whatever the workload tells kinds of requests by
  std::uint32_t tenant = 0;
};

// Tells what a request says: its prompt and all that it will generate, in the form of append_run. Empty = nothing that
// another request could share.
class ContentSource {
 public:
  ContentSource() = default;
  ContentSource(const ContentSource&) = delete;
  ContentSource& operator=(const ContentSource&) = delete;
  virtual ~ContentSource() = default;
  virtual void content_of(RequestId request, Content& out) = 0;
  [[nodiscard]] virtual ContentOrigin origin_of(RequestId /*request*/) const { return {}; }
};

}  // namespace blockyard::kv
