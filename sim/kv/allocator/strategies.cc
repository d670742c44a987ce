#include "sim/kv/allocator/strategies.h"

#include <array>

#include "sim/kv/allocator/contiguous.h"
#include "sim/kv/allocator/none.h"
#include "sim/kv/allocator/paged.h"
#include "sim/kv/allocator/paged_cached.h"
#include "sim/kv/allocator/paged_forks.h"
#include "sim/kv/allocator/paged_groups.h"
#include "sim/kv/allocator/paged_hybrid.h"
#include "sim/kv/allocator/separate.h"
#include "sim/kv/allocator/virtual.h"
#include "sim/kv/placement/best_fit.h"
#include "sim/kv/placement/buddy.h"
#include "sim/kv/placement/first_fit.h"
#include "sim/kv/placement/next_fit.h"
#include "sim/kv/placement/worst_fit.h"

namespace blockyard::kv {
namespace {

template <class P>
std::unique_ptr<Placement> make(Tokens capacity) {
  return std::make_unique<P>(capacity);
}

struct PlacementRow {
  const char* name;
  const char* doc;
  std::unique_ptr<Placement> (*make)(Tokens capacity);
};

constexpr std::array kPlacements{
    PlacementRow{"buddy", "powers of two, split and joined (Knowlton, CACM 1965)", make<Buddy>},
    PlacementRow{"first_fit", "the lowest free region that is large enough", make<FirstFit>},
    PlacementRow{"next_fit", "the next free region that is large enough, from the one placed last", make<NextFit>},
    PlacementRow{"best_fit", "the smallest free region that is large enough", make<BestFit>},
    PlacementRow{"worst_fit", "the largest free region", make<WorstFit>},
};

struct ReservationRow {
  const char* name;
  const char* doc;
  ReservationRule rule;
};

constexpr std::array kReservations{
    ReservationRow{"max_model_len", "every request gets room for the longest sequence", ReservationRule::max_model_len},
    ReservationRow{"max_tokens", "the prompt and the declared output", ReservationRule::max_tokens},
    ReservationRow{"pow2", "the prompt and the true output rounded up to a power of two (Orca Pow2)",
                   ReservationRule::pow2},
    ReservationRow{"oracle", "exactly what will be written: prompt + output - 1", ReservationRule::oracle},
    ReservationRow{"grow", "the prompt and initial_tokens, doubled by a copy whenever they are full",
                   ReservationRule::grow},
};

template <class Rows>
const auto& row_of(const Rows& rows, std::string_view name) {
  for (const auto& row : rows) {
    if (row.name == name) return row;
  }
  check_failed(__FILE__, __LINE__, "a name of the table", name);
}

template <class Rows>
NameDocs docs_of(const Rows& rows) {
  NameDocs docs;
  for (const auto& row : rows) docs.push_back({row.name, row.doc});
  return docs;
}

struct StrategyRow {
  const char* name;
  const char* doc;
  StrategyTraits traits;
  std::unique_ptr<Allocator> (*make)(const MemoryOptions& options);
};

std::unique_ptr<Allocator> make_paged(const MemoryOptions& o) {
  const Blocks blocks(o.capacity.count() / o.block_size.count());
  if (!o.tables.empty() && o.contents != nullptr) {
    CHECK_LAW(o.eviction.policy == nullptr && o.eviction.record == nullptr && o.tiers.tiers.empty(),
              "{} kinds of block tables under a policy or tiers", o.tables.size());
    return std::make_unique<PagedGroups>(blocks + Blocks(1), o.block_pieces, o.tables, o.longest_chunk, *o.contents);
  }
  if (!o.tables.empty()) return std::make_unique<PagedHybrid>(blocks, o.block_pieces, o.tables, o.longest_chunk);
  if (o.contents == nullptr) return std::make_unique<Paged>(blocks, o.block_size);
  auto made = std::make_unique<PagedCached>(blocks + Blocks(1), o.block_size, true, o.contents);
  made->set_eviction(o.eviction);
  made->set_tiers(o.tiers);
  return made;
}

std::unique_ptr<Allocator> make_contiguous(const MemoryOptions& o) {
  const Reservation reservation{.rule = row_of(kReservations, o.reservation).rule,
                                .max_model_len = o.max_model_len,
                                .initial_tokens = o.initial_tokens,
                                .largest_region = {}};
  return std::make_unique<Contiguous>(o.capacity, reservation, o.compaction, make_placement(o.placement, o.capacity));
}

std::unique_ptr<Allocator> make_virtual(const MemoryOptions& o) {
  return std::make_unique<Virtual>(o.pages, o.page_geometry, o.keep_pages);
}

std::unique_ptr<Allocator> make_none(const MemoryOptions& o) { return std::make_unique<NoCache>(o.capacity); }

constexpr std::array kStrategies{
    StrategyRow{"paged", "blocks on demand (Kwon et al., SOSP 2023)", {.blocks = true}, make_paged},
    StrategyRow{"contiguous", "one region a request, reserved at admission", {.regions = true}, make_contiguous},
    StrategyRow{"virtual",
                "contiguous addresses over physical pages mapped on demand (vAttention; Prabhu et al., ASPLOS 2025)",
                {.pages = true},
                make_virtual},
    StrategyRow{"none", "no cache: every step computes the whole context again", {}, make_none},
};

}  // namespace

NameDocs strategies() { return docs_of(kStrategies); }
NameDocs reservations() { return docs_of(kReservations); }
NameDocs placements() { return docs_of(kPlacements); }

std::unique_ptr<Placement> make_placement(std::string_view placement, Tokens capacity) {
  return row_of(kPlacements, placement).make(capacity);
}

StrategyTraits traits_of_strategy(std::string_view strategy) { return row_of(kStrategies, strategy).traits; }

std::unique_ptr<Allocator> make_allocator(std::string_view strategy, const MemoryOptions& options) {
  if (!options.forks) return row_of(kStrategies, strategy).make(options);
  const bool cached = options.contents != nullptr;
  CHECK_LAW(!cached || !options.beams, "beams on {} with a prefix cache", strategy);
  if (strategy == "paged" && !cached) {
    return std::make_unique<PagedForks>(Blocks(options.capacity.count() / options.block_size.count()),
                                        options.block_size, options.beams);
  }
  return std::make_unique<Separate>(row_of(kStrategies, strategy).make(options), cached);
}

}  // namespace blockyard::kv
