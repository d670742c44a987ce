#include "sim/workload/content_store.h"

#include <algorithm>

namespace blockyard::workload {

ContentId ContentStore::put(const Content& content) {
  if (unused_.empty()) {
    unused_.push_back(static_cast<ContentId>(contents_.size()));
    contents_.emplace_back();
  }
  const ContentId id = unused_.back();
  unused_.pop_back();
  contents_[static_cast<std::size_t>(id)] = content;
  return id;
}

ContentId ContentStore::add(std::span<const std::int64_t> ids, Tokens block_size, Tokens prompt) {
  ids_block_ = block_size;
  Content content;
  std::int64_t left = prompt.count();
  for (const std::int64_t block : ids) {
    append_run(content, {block * block_size.count(), std::min(left, block_size.count())});
    left -= std::min(left, block_size.count());
  }
  return put(content);
}

void ContentStore::drop(ContentId id) {
  contents_[static_cast<std::size_t>(id)].clear();
  unused_.push_back(id);
}

}  // namespace blockyard::workload
