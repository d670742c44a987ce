#include "sim/base/stable_order.h"

#include <rapidcheck.h>
#include <algorithm>
#include <catch2/catch.hpp>

namespace blockyard {
namespace {

struct Item {
  int key = 0;
  std::size_t place = 0;
};

TEST_CASE("sorted by the key, equal keys in their order") {
  REQUIRE(rc::check([](const std::vector<std::uint8_t>& keys) {
    std::vector<Item> items;
    for (const std::uint8_t key : keys) items.push_back({key % 8, items.size()});
    sort_keeping_ties(items, [](const Item& item) { return item.key; });
    RC_ASSERT(items.size() == keys.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      RC_ASSERT(items[i].key == keys[items[i].place] % 8);
      if (i == 0) continue;
      const bool in_order =
          items[i - 1].key < items[i].key || (items[i - 1].key == items[i].key && items[i - 1].place < items[i].place);
      RC_ASSERT(in_order);
    }
  }));
}

}  // namespace
}  // namespace blockyard
