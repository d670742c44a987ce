// A radix cache is leaf_lru on blocks of one token.
#include <catch2/catch.hpp>
#include <map>

#include "sim/base/random.h"
#include "sim/kv/cache/reference_string.h"
#include "sim/kv/eviction/policies.h"
#include "tests/kv/naive_radix.h"

namespace blockyard::kv {
namespace {

// Prompts that go along others for a while, and part from them at any token.
std::vector<std::vector<std::int64_t>> prompts(RandomStream& random, std::int64_t count) {
  std::vector<std::vector<std::int64_t>> all;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<std::int64_t> prompt;
    if (i > 0) {
      prompt = all[static_cast<std::size_t>(random.integer(0, i - 1))];
      prompt.resize(static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(prompt.size()))));
    }
    const std::int64_t length = std::max<std::int64_t>(static_cast<std::int64_t>(prompt.size()), random.integer(1, 25));
    while (static_cast<std::int64_t>(prompt.size()) < length) prompt.push_back(random.integer(0, 2));
    all.push_back(std::move(prompt));
  }
  return all;
}

TEST_CASE("leaf_lru on blocks of one token finds what a radix tree does, to the token") {
  std::int64_t all = 0;
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    RandomStream random(seed, "radix");
    const auto said = prompts(random, 60);
    ReferenceString references(Tokens(1), Lookup::full);
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> names;  // of a prefix and the token behind it
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < said.size(); ++i) {
      ids.clear();
      std::int64_t prefix = 0;
      for (const std::int64_t token : said[i]) {
        prefix = names.try_emplace({prefix, token}, std::ssize(names) + 1).first->second;
        ids.push_back(prefix);
      }
      references.add(ids, Tokens(std::ssize(ids)), SimTime(static_cast<std::int64_t>(i)), 0);
    }
    for (const std::int64_t capacity : {25, 40, 100, 400}) {
      INFO("seed " << seed << ", capacity " << capacity);
      NaiveRadix tree(capacity, false);
      std::int64_t found = 0;
      for (const auto& prompt : said) found += tree.serve(prompt);
      CacheRunOptions options;
      options.capacity = capacity;
      CHECK(find_eviction("leaf_lru")->run(references, options).hit_tokens == found);
      all += found;
    }
  }
  CHECK(all > 10'000);
}

}  // namespace
}  // namespace blockyard::kv
