#include "sim/kv/allocator/strategies.h"

#include <array>

#include "sim/kv/allocator/contiguous.h"
#include "sim/kv/allocator/none.h"
#include "sim/kv/allocator/paged.h"
#include "sim/kv/allocator/paged_cached.h"
#include "sim/kv/allocator/paged_forks.h"
#include "sim/kv/allocator/separate.h"
#include "sim/kv/placement/buddy.h"
#include "sim/kv/placement/first_fit.h"

namespace blockyard::kv {
namespace {

struct PlacementRow {
  const char* name;
  const char* doc;
  std::unique_ptr<Placement> (*make)(Tokens capacity);
};

constexpr std::array kPlacements{
    PlacementRow{"buddy", "powers of two, split and joined (Knowlton, CACM 1965)",
                 [](Tokens capacity) -> std::unique_ptr<Placement> { return std::make_unique<Buddy>(capacity); }},
    PlacementRow{"first_fit", "the lowest free region that is large enough",
                 [](Tokens capacity) -> std::unique_ptr<Placement> { return std::make_unique<FirstFit>(capacity); }},
};

struct ReservationRow {
  const char* name;
  const char* doc;
  Reservation reservation;
};

constexpr std::array kReservations{
    ReservationRow{"max_model_len", "every request gets room for the longest sequence", Reservation::max_model_len},
    ReservationRow{"max_tokens", "the prompt and the declared output", Reservation::max_tokens},
    ReservationRow{"pow2", "the prompt and the true output rounded up to a power of two (Orca Pow2)",
                   Reservation::pow2},
    ReservationRow{"oracle", "exactly what will be written: prompt + output - 1", Reservation::oracle},
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
  std::unique_ptr<Allocator> (*make)(const MemoryOptions& options);
};

constexpr std::array kStrategies{
    StrategyRow{"paged", "blocks on demand (Kwon et al., SOSP 2023)",
                [](const MemoryOptions& o) -> std::unique_ptr<Allocator> {
                  const Blocks blocks(o.capacity.count() / o.block_size.count());
                  if (o.contents != nullptr) {
                    auto made = std::make_unique<PagedCached>(blocks + Blocks(1), o.block_size, true, o.contents);
                    made->set_eviction(o.eviction);
                    return made;
                  }
                  return std::make_unique<Paged>(blocks, o.block_size);
                }},
    StrategyRow{"contiguous", "one region a request, reserved at admission",
                [](const MemoryOptions& o) -> std::unique_ptr<Allocator> {
                  return std::make_unique<Contiguous>(o.capacity, row_of(kReservations, o.reservation).reservation,
                                                      o.max_model_len,
                                                      row_of(kPlacements, o.placement).make(o.capacity));
                }},
    StrategyRow{
        "none", "no cache: every step computes the whole context again",
        [](const MemoryOptions& o) -> std::unique_ptr<Allocator> { return std::make_unique<NoCache>(o.capacity); }},
};

}  // namespace

NameDocs strategies() { return docs_of(kStrategies); }
NameDocs reservations() { return docs_of(kReservations); }
NameDocs placements() { return docs_of(kPlacements); }

std::unique_ptr<Allocator> make_allocator(std::string_view strategy, const MemoryOptions& options) {
  if (!options.forks) return row_of(kStrategies, strategy).make(options);
  if (strategy == "paged") {
    return std::make_unique<PagedForks>(Blocks(options.capacity.count() / options.block_size.count()),
                                        options.block_size, options.beams);
  }
  return std::make_unique<Separate>(row_of(kStrategies, strategy).make(options));
}

}  // namespace blockyard::kv
