#include "sim/kv/beam_tree.h"

#include <algorithm>
#include <numeric>

#include "sim/base/check.h"

namespace blockyard::kv {

void BeamTree::start(std::int64_t k, bool partial) {
  k_ = k;
  settled_ = 0;
  open_blocks_ = 0;
  columns_ = 0;
  holder_.clear();
  copies_.clear();
  if (!partial) return;
  holder_.assign(static_cast<std::size_t>(k), 0);
  copies_.push_back(1);
  columns_ = 1;
  open_blocks_ = 1;
}

void BeamTree::write_on() {
  CHECK_LAW(columns_ > 0, "{} beams write on in no block", k_);
  std::int32_t* const last = column(columns_ - 1);
  std::iota(last, last + k_, 0);
  open_blocks_ += k_ - copies_.back();
  copies_.back() = k_;
}

void BeamTree::begin_block() {
  settle();
  const std::size_t at = holder_.size();
  holder_.resize(at + static_cast<std::size_t>(k_));
  std::iota(holder_.begin() + static_cast<std::ptrdiff_t>(at), holder_.end(), 0);
  copies_.push_back(k_);
  ++columns_;
  open_blocks_ += k_;
}

void BeamTree::choose(const std::vector<std::int32_t>& parents) {
  freed_last_ = freed_full_ = 0;
  for (std::size_t i = 0; i < columns_; ++i) {
    std::int32_t* const holder = column(i);
    scratch_.assign(holder, holder + k_);
    std::int64_t copies = 0;
    for (std::size_t b = 0; b < parents.size(); ++b) holder[b] = scratch_[static_cast<std::size_t>(parents[b])];
    scratch_.assign(holder, holder + k_);
    std::sort(scratch_.begin(), scratch_.end());
    copies = std::unique(scratch_.begin(), scratch_.end()) - scratch_.begin();
    (i + 1 == columns_ ? freed_last_ : freed_full_) += copies_[i] - copies;
    open_blocks_ -= copies_[i] - copies;
    copies_[i] = copies;
  }
}

// Forgets the leading columns of one copy: nothing changes in them any more. Only before a new block begins, since the
// last one is written to.
void BeamTree::settle() {
  std::size_t done = 0;
  while (done < columns_ && copies_[done] == 1) ++done;
  if (done == 0) return;
  copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(done));
  holder_.erase(holder_.begin(), holder_.begin() + static_cast<std::ptrdiff_t>(done * static_cast<std::size_t>(k_)));
  columns_ -= done;
  settled_ += static_cast<std::int64_t>(done);
  open_blocks_ -= static_cast<std::int64_t>(done);
}

}  // namespace blockyard::kv
