// Where the allocators learn what a request says.
#pragma once

#include "sim/base/content.h"
#include "sim/base/ids.h"

namespace blockyard::kv {

// Tells what a request says: its prompt and all that it will generate, in the form of append_run. Empty = nothing that
// another request could share.
class ContentSource {
 public:
  ContentSource() = default;
  ContentSource(const ContentSource&) = delete;
  ContentSource& operator=(const ContentSource&) = delete;
  virtual ~ContentSource() = default;
  virtual void content_of(RequestId request, Content& out) = 0;
};

}  // namespace blockyard::kv
