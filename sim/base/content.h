// What a prompt and its answer say, as far as prefix caching cares: token ids as runs. Two sequences share a block
// exactly if their runs spell the same tokens up to its end. Real token ids are never needed: a trace's hash id, a
// session's earlier turns or a fresh answer are runs of ids that nothing else uses.
#pragma once

#include <cstdint>
#include <vector>

namespace blockyard {

// The tokens start, start + 1, ..., start + count - 1.
struct TokenRun {
  std::int64_t start = 0;
  std::int64_t count = 0;

  bool operator==(const TokenRun&) const = default;
};

using Content = std::vector<TokenRun>;

// Appends a run, joining it to the last where it goes on: equal token sequences have equal contents only in this form.
inline void append_run(Content& content, TokenRun run) {
  if (run.count <= 0) return;
  if (!content.empty() && content.back().start + content.back().count == run.start) {
    content.back().count += run.count;
  } else {
    content.push_back(run);
  }
}

}  // namespace blockyard
