// The table of memory strategies, reservations and placements: the names a scenario may use, in one place.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/base/named.h"
#include "sim/kv/allocator/allocator.h"
#include "sim/kv/allocator/block_tables.h"
#include "sim/kv/allocator/contiguous.h"
#include "sim/kv/allocator/page_geometry.h"
#include "sim/kv/beam_tree.h"
#include "sim/kv/content.h"
#include "sim/kv/placement/placement.h"
#include "sim/kv/prefix/idle_blocks.h"
#include "sim/kv/tiers/lower_tiers.h"

namespace blockyard::kv {

struct MemoryOptions {
  Tokens capacity;                    // usable slots of the pool; with tables, its blocks x block_size
  Tokens block_size;                  // paged
  Tokens max_model_len;               // contiguous
  std::string_view reservation;       // contiguous: a name of reservations()
  std::string_view placement;         // contiguous: a name of placements()
  ContentSource* contents = nullptr;  // paged: with prefix caching; outlives the memory
  CacheEviction eviction = {};        // paged, with prefix caching
  TiersOptions tiers = {};            // paged, with prefix caching and an eviction policy
  Tokens initial_tokens{};            // contiguous: reservation grow
  Compaction compaction{};            // contiguous
  std::int64_t pages = 0;             // virtual: of one GPU
  PageGeometry page_geometry{};       // virtual
  bool keep_pages = true;             // virtual
  std::vector<BlockTables> tables{};  // paged, with contents no eviction policy: of unlike layers; empty = one table
  std::int64_t block_pieces = 0;      // paged, with tables
  Tokens longest_chunk{};             // paged, with tables
  bool forks = false;                 // requests may become several sequences
  std::optional<BeamModel> beams{};   // with forks, without contents: they are beams
};

[[nodiscard]] NameDocs strategies();
[[nodiscard]] NameDocs reservations();
[[nodiscard]] NameDocs placements();

// `placement` is a name of placements().
[[nodiscard]] std::unique_ptr<Placement> make_placement(std::string_view placement, Tokens capacity);

// What of MemoryOptions a strategy reads.
struct StrategyTraits {
  bool blocks = false;   // block_size
  bool regions = false;  // reservation, placement, compaction
  bool pages = false;    // pages, page_geometry, keep_pages, instead of capacity
};
[[nodiscard]] StrategyTraits traits_of_strategy(std::string_view strategy);

// `strategy` is a name of strategies(); an unknown name is a broken law, since scenarios are validated against the
// tables.
[[nodiscard]] std::unique_ptr<Allocator> make_allocator(std::string_view strategy, const MemoryOptions& options);

}  // namespace blockyard::kv
