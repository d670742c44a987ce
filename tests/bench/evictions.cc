// Block references a second of processor time of every eviction policy, the cache alone: unrelated blocks, drawn with
// Zipf's law (exponent 1) from a million contents, against a cache of a tenth of them. Usage: evictions [REFERENCES]
// [POLICY...]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <string>
#include <vector>

#include "sim/base/random.h"
#include "sim/kv/eviction/policies.h"

namespace {

using namespace blockyard;

kv::ReferenceString zipf(std::int64_t count, std::int64_t contents) {
  std::vector<double> cumulative;
  double sum = 0;
  for (std::int64_t i = 1; i <= contents; ++i) cumulative.push_back(sum += 1.0 / static_cast<double>(i));
  RandomStream random(1, "zipf");
  kv::ReferenceString references(Tokens(16), kv::Lookup::raw);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t id = std::ranges::lower_bound(cumulative, random.uniform() * sum) - cumulative.begin();
    references.add({&id, 1}, Tokens(16), SimTime(i * 1'000'000), static_cast<std::uint32_t>(id % 4));
  }
  return references;
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t count = argc > 1 ? std::atoll(argv[1]) : 10'000'000;
  constexpr std::int64_t kContents = 1'000'000;
  const std::vector<std::string> only(argv + std::min(argc, 2), argv + argc);
  const kv::ReferenceString references = zipf(count, kContents);
  fmt::print("{:<15} {:>14} {:>10}\n", "policy", "M references/s", "hit ratio");
  for (const kv::EvictionRow& row : kv::eviction_policies()) {
    if (!only.empty() && std::ranges::find(only, row.name) == only.end()) continue;
    kv::CacheRunOptions options;
    options.capacity = kContents / 10;
    const std::clock_t start = std::clock();
    const kv::CacheCounts counts = row.run(references, options);
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    fmt::print("{:<15} {:>14.2f} {:>9.2f} %\n", row.name, static_cast<double>(count) / took / 1e6,
               100.0 * static_cast<double>(counts.hit_blocks) / static_cast<double>(count));
  }
}
