// Sorts by a key; equal keys keep their order. In place of std::stable_sort, which in libstdc++ 12 calls a function
// that C++17 deprecates, so that clang refuses it with warnings as errors. O(n log n), and n moves.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <utility>
#include <vector>

namespace blockyard {

template <class Item, class Key>
void sort_keeping_ties(std::vector<Item>& items, Key key) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (key(items[a]) < key(items[b])) return true;
    return !(key(items[b]) < key(items[a])) && a < b;
  });
  std::vector<Item> sorted;
  sorted.reserve(items.size());
  for (const std::size_t index : order) sorted.push_back(std::move(items[index]));
  items = std::move(sorted);
}

}  // namespace blockyard
