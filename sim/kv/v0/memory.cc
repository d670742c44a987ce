#include "sim/kv/v0/memory.h"

#include <algorithm>
#include <iterator>

#include "sim/base/check.h"

namespace blockyard::kv {

V0Memory::V0Memory(const V0MemoryOptions& options)
    : options_(options),
      block_size_(options.block_size.count()),
      watermark_blocks_(static_cast<std::int64_t>(options.watermark * static_cast<double>(options.gpu_blocks.count()))),
      pool_(options.gpu_blocks, options.block_size) {
  for (std::int64_t i = options.host_blocks.count(); i-- > 0;) host_.push_back(static_cast<BlockId>(i));
}

std::string V0Memory::why_never(const SequenceNeed& need) const {
  const std::int64_t whole = blocks_for(need.true_end, options_.block_size).count();
  if (whole > total_grains()) {
    return fmt::format("needs {} blocks of {} tokens, the pool has {}", whole, block_size_, total_grains());
  }
  const std::int64_t prompt = blocks_for(need.prompt, options_.block_size).count();
  if (total_grains() - prompt < watermark_blocks_) {
    return fmt::format("its prompt needs {} blocks of {} tokens, the pool has {} above the watermark", prompt,
                       block_size_, total_grains() - watermark_blocks_);
  }
  return "";
}

V0Memory::Held& V0Memory::held(SequenceId id) {
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  return held_[index_of(id)];
}

// A request without a stated content shares nothing, but its blocks are registered and evicted like all others: it gets
// token ids that no one else uses.
void V0Memory::make_path(Held& h, RequestId request, Tokens longest) {
  content_.clear();
  options_.contents->content_of(request, content_);
  if (content_.empty()) {
    content_.push_back({INT64_MIN + (static_cast<std::int64_t>(index_of(request)) << 31), longest.count()});
  }
  pool_.contents().intern(content_, h.path);
}

NodeId V0Memory::node_at(const Held& h, std::int32_t position) {
  const auto piece = std::upper_bound(h.path.begin(), h.path.end(), position,
                                      [](std::int32_t at, const Piece& p) { return at < p.end; });
  CHECK_LAW(piece != h.path.end(), "block {} lies beyond its sequence's content", position);
  return piece->node;
}

Tokens V0Memory::cached_tokens(SequenceId id, RequestId request, Tokens length, Tokens longest) {
  if (!prefix_caching()) return Tokens(0);
  Held& h = held(id);
  if (h.memorised >= Tokens(0)) return h.memorised;
  if (h.path.empty()) make_path(h, request, longest);
  // The engine bisects for the first block that is not computed, although computed ones may follow it.
  std::int32_t low = 0;
  std::int32_t high = static_cast<std::int32_t>(length.count() / block_size_);
  while (low < high) {
    const std::int32_t middle = (low + high) / 2;
    if (pool_.computed(node_at(h, middle), middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  h.memorised = options_.block_size * low;
  return h.memorised;
}

Room V0Memory::room_for(Tokens length) const {
  const std::int64_t need = blocks_for(length, options_.block_size).count();
  if (total_grains() - need < watermark_blocks_) return Room::never;
  return pool_.free() - need >= watermark_blocks_ ? Room::now : Room::later;
}

void V0Memory::admit(SequenceId id, Tokens length) {
  Held& h = held(id);
  CHECK_LAW(h.table.empty() && !h.on_host, "sequence {} is admitted twice", index_of(id));
  const std::int64_t blocks = blocks_for(length, options_.block_size).count();
  const std::int64_t full = length.count() / block_size_;
  for (std::int64_t i = 0; i < blocks; ++i) {
    BlockId block = kNoBlock;
    if (prefix_caching() && i < full) {
      const auto position = static_cast<std::int32_t>(i);
      const NodeId node = node_at(h, position);
      block = pool_.share(node, position);
      if (block == kNoBlock) block = pool_.seal(pool_.take(), node, position);
    } else {
      block = pool_.take();
    }
    h.table.push_back(block);
  }
  h.slots = length;
  h.written = Tokens(0);
}

// 1 + ceil((new tokens - room in the last block) / block size); a last block that is full offers a whole block's room.
std::int64_t V0Memory::touched(SequenceId id, Tokens length) const {
  const Held& h = held_[index_of(id)];
  const std::int64_t beyond = (length - h.slots).count() - (block_size_ - h.slots.count() % block_size_);
  // Division truncates towards zero, which is the ceiling of a negative quotient.
  return 1 + (beyond > 0 ? (beyond + block_size_ - 1) / block_size_ : beyond / block_size_);
}

void V0Memory::append(SequenceId id, Tokens length) {
  Held& h = held_[index_of(id)];
  const auto blocks = static_cast<std::size_t>(blocks_for(length, options_.block_size).count());
  while (h.table.size() < blocks) h.table.push_back(pool_.take());
  if (prefix_caching()) {
    for (std::int64_t i = h.slots.count() / block_size_; i < length.count() / block_size_; ++i) {
      BlockId& block = h.table[static_cast<std::size_t>(i)];
      block = pool_.seal(block, node_at(h, static_cast<std::int32_t>(i)), static_cast<std::int32_t>(i));
    }
  }
  h.slots = length;
}

std::int64_t V0Memory::moved(SequenceId id, Tokens length) const {
  return touched(id, length) + held_[index_of(id)].slots.count() / block_size_;
}

bool V0Memory::can_swap_out(SequenceId id, Tokens length) const { return moved(id, length) <= host_available(); }

Blocks V0Memory::swap_out(SequenceId id) {
  CHECK_LAW(!prefix_caching(), "sequence {} is swapped out under prefix caching", index_of(id));
  Held& h = held_[index_of(id)];
  for (const BlockId block : h.table) pool_.release(block, h.last_step);
  for (BlockId& block : h.table) {
    moves_.emplace_back(block, host_.back());
    block = host_.back();
    host_.pop_back();
  }
  h.on_host = true;
  return Blocks(static_cast<std::int64_t>(h.table.size()));
}

Room V0Memory::room_to_swap_in(SequenceId id, Tokens length) const {
  const std::int64_t need = moved(id, length);
  if (total_grains() < need) return Room::never;
  return pool_.free() - need >= watermark_blocks_ ? Room::now : Room::later;
}

Blocks V0Memory::swap_in(SequenceId id) {
  Held& h = held_[index_of(id)];
  for (const BlockId block : h.table) host_.push_back(block);
  for (BlockId& block : h.table) {
    const BlockId source = block;
    block = pool_.take();
    moves_.emplace_back(source, block);
  }
  h.on_host = false;
  h.written = Tokens(0);
  return Blocks(static_cast<std::int64_t>(h.table.size()));
}

void V0Memory::plan(SequenceId id, Tokens computed, std::int64_t step) {
  Held& h = held_[index_of(id)];
  h.last_step = step;
  for (std::int64_t i = h.written.count() / block_size_; i * block_size_ < computed.count(); ++i) {
    pool_.fill(h.table[static_cast<std::size_t>(i)], std::min(block_size_, computed.count() - i * block_size_));
  }
  h.written = computed;
}

void V0Memory::release(SequenceId id) {
  Held& h = held(id);
  if (h.on_host) {
    for (const BlockId block : h.table) host_.push_back(block);
  } else {
    for (const BlockId block : h.table) pool_.release(block, h.last_step);
  }
  h.table.clear();
  h.on_host = false;
  h.slots = h.written = Tokens(0);
  h.memorised = Tokens(-1);
  h.last_step = -1;
}

void V0Memory::forget(SequenceId id) {
  Held& h = held(id);
  if (h.on_host) {
    host_lost_ += static_cast<std::int64_t>(h.table.size());
    h.table.clear();
    h.on_host = false;
  }
  CHECK_LAW(h.table.empty(), "sequence {} ends with {} blocks", index_of(id), h.table.size());
  pool_.contents().drop(h.path);
  h.memorised = Tokens(-1);
  h.slots = h.written = Tokens(0);
}

}  // namespace blockyard::kv
