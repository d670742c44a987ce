// The requests at the head of the queue, as far as an eviction policy is told of them: the first kLooked of those that
// wait, in the order in which they came (preempted ones come again, as the last). O(blocks of its content) a request.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "sim/kv/content.h"
#include "sim/kv/prefix/content_keys.h"
#include "sim/kv/prefix/idle_blocks.h"

namespace blockyard::kv {

class ExpectedRequests {
 public:
  static constexpr std::size_t kLooked = 16;

  ExpectedRequests(ContentSource& contents, Tokens block_size, IdleBlocks& idle)
      : contents_(&contents), block_size_(block_size), idle_(&idle) {}

  void add(RequestId request) {
    waiting_.push_back({request, {}});
    if (waiting_.size() <= kLooked) tell(waiting_.back());
  }
  void remove(RequestId request) {
    const auto found = std::ranges::find(waiting_, request, &Waiting::request);
    if (found == waiting_.end()) return;
    const bool told = found - waiting_.begin() < static_cast<std::ptrdiff_t>(kLooked);
    if (told) idle_->unwant(found->keys);
    waiting_.erase(found);
    if (told && waiting_.size() >= kLooked) tell(waiting_[kLooked - 1]);
  }

 private:
  struct Waiting {
    RequestId request{};
    std::vector<std::uint64_t> keys;
  };

  void tell(Waiting& waiting) {
    contents_->content_of(waiting.request, content_);
    block_keys(content_, block_size_ * full_blocks(content_, block_size_), block_size_, waiting.keys);
    idle_->want(waiting.keys);
  }

  ContentSource* contents_;
  Tokens block_size_;
  IdleBlocks* idle_;
  std::deque<Waiting> waiting_;
  Content content_;
};

}  // namespace blockyard::kv
