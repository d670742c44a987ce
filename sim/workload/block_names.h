// Ids for the blocks of prompts, whatever the size of the blocks that the prompts' contents were told in: the inverse
// of ContentStore::add, and the way from 512-token ids to 16-token ids and back. Law: two blocks have one id exactly if
// they and all before them are the same tokens. Ids count from 0 in order of first sight. Tokens that nothing is known
// of are nobody else's: their blocks have ids of their own. Memory: the distinct blocks. O(runs + blocks) a prompt.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "sim/base/content.h"
#include "sim/base/quantities.h"

namespace blockyard::workload {

class BlockNames {
 public:
  explicit BlockNames(Tokens block) : block_(block.count()) {}

  // Appends one id for each begun block of the prompt. Runs of `content` that begin alike are alike up to their length,
  // and so is all before them (so it is with ids of blocks that name all before them, and with shared beginnings).
  void append(const Content& content, Tokens prompt, std::vector<std::int64_t>& ids);

 private:
  // A run behind the place `behind` (0: a run that says by itself where it stands).
  struct Step {
    std::int64_t behind;
    std::int64_t start;
    std::int64_t count;
    bool operator==(const Step&) const = default;
  };
  struct Hash {
    std::size_t operator()(const Step& step) const;
  };

  std::int64_t block_;
  std::unordered_map<Step, std::int64_t, Hash> places_;  // from 1
  std::unordered_map<std::int64_t, std::int64_t> id_of_place_;
  std::int64_t next_id_ = 0;
};

}  // namespace blockyard::workload
