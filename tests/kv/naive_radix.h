// A radix tree of prompts as SGLang's cache is told in the paper (Zheng et al., NeurIPS 2024): token by token, and
// where room is needed the leaf that was used longest ago goes. Written down plainly, for comparison.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace blockyard::kv {

class NaiveRadix {
 public:
  // `computes_last`: the last token of a prompt is computed although it is there, which takes room meanwhile.
  NaiveRadix(std::int64_t capacity, bool computes_last) : capacity_(capacity), computes_last_(computes_last) {}

  // Tokens of the prompt that are there; all of it is afterwards. The capacity holds it.
  std::int64_t serve(const std::vector<std::int64_t>& prompt) {
    ++now_;
    Prefix path;
    std::int64_t found = 0;
    for (std::size_t i = 0; i + 1 < prompt.size(); ++i) {
      path.push_back(prompt[i]);
      if (!used_.contains(path)) break;
      used_[path] = now_;
      ++found;
    }
    if (!computes_last_ && used_.contains(prompt)) used_[prompt] = now_;
    const std::int64_t there = computes_last_ ? found : found + (used_.contains(prompt) ? 1 : 0);
    const auto size = static_cast<std::int64_t>(prompt.size());
    while (static_cast<std::int64_t>(used_.size()) + size - there > capacity_) drop_oldest_leaf();
    path.clear();
    for (const std::int64_t token : prompt) {
      path.push_back(token);
      used_[path] = now_;
    }
    return found;
  }

 private:
  using Prefix = std::vector<std::int64_t>;

  // In the map all that a prefix begins stand behind it.
  void drop_oldest_leaf() {
    auto oldest = used_.end();
    for (auto at = used_.begin(); at != used_.end(); ++at) {
      const auto next = std::next(at);
      const bool leaf = next == used_.end() || next->first.size() <= at->first.size();
      if (leaf && at->second < now_ && (oldest == used_.end() || at->second < oldest->second)) oldest = at;
    }
    used_.erase(oldest);
  }

  std::int64_t capacity_;
  bool computes_last_;
  std::int64_t now_ = 0;
  std::map<Prefix, std::int64_t> used_;
};

}  // namespace blockyard::kv
