// What the prompts of a trace say, where it says so by ids of blocks: kept from the reading of a row until its request
// ends. An id names a block and all blocks before it, so that the blocks of two prompts are equal exactly if their ids
// are. The trace's block size need not be the engine's: an id stands for a run of block_size token ids of its own.
// O(ids) a prompt.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/content.h"
#include "sim/base/quantities.h"
#include "sim/workload/request.h"

namespace blockyard::workload {

class ContentStore {
 public:
  // `ids` name the prompt's blocks from its start; those beyond the prompt's end are cut, tokens beyond the ids are
  // nobody else's.
  ContentId add(std::span<const std::int64_t> ids, Tokens block_size, Tokens prompt);
  ContentId put(const Content& content);
  [[nodiscard]] const Content& at(ContentId id) const { return contents_[static_cast<std::size_t>(id)]; }
  void drop(ContentId id);
  // Tokens an id stands for, of the ids added last; 0 if there were none.
  [[nodiscard]] Tokens ids_block() const { return ids_block_; }

 private:
  std::vector<Content> contents_;
  std::vector<ContentId> unused_;
  Tokens ids_block_;
};

}  // namespace blockyard::workload
