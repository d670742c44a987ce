// The table of memory strategies, reservations and placements: the names a scenario may use, in one place.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "sim/base/named.h"
#include "sim/kv/allocator/allocator.h"
#include "sim/kv/beam_tree.h"
#include "sim/kv/content.h"
#include "sim/kv/prefix/idle_blocks.h"

namespace blockyard::kv {

struct MemoryOptions {
  Tokens capacity;                    // usable slots of the pool
  Tokens block_size;                  // paged
  Tokens max_model_len;               // contiguous
  std::string_view reservation;       // contiguous: a name of reservations()
  std::string_view placement;         // contiguous: a name of placements()
  ContentSource* contents = nullptr;  // paged: with prefix caching; outlives the allocator
  CacheEviction eviction = {};        // paged, with prefix caching
  bool forks = false;                 // requests may become several sequences (not combined with contents)
  std::optional<BeamModel> beams{};   // with forks: they are beams
};

[[nodiscard]] NameDocs strategies();
[[nodiscard]] NameDocs reservations();
[[nodiscard]] NameDocs placements();

// `strategy` is a name of strategies(); an unknown name is a broken law, since scenarios are validated against the
// tables.
[[nodiscard]] std::unique_ptr<Allocator> make_allocator(std::string_view strategy, const MemoryOptions& options);

}  // namespace blockyard::kv
