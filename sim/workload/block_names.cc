#include "sim/workload/block_names.h"

#include <algorithm>

namespace blockyard::workload {

std::size_t BlockNames::Hash::operator()(const Step& step) const {
  std::uint64_t x = 0;
  for (const std::int64_t part : {step.behind, step.start, step.count}) {
    x = (x ^ static_cast<std::uint64_t>(part)) * std::uint64_t{0x9e3779b97f4a7c15};
    x ^= x >> 32;
  }
  return x;
}

void BlockNames::append(const Content& content, Tokens prompt, std::vector<std::int64_t>& ids) {
  auto run = content.begin();
  std::int64_t used = 0;  // of the run
  std::int64_t place = 0;
  for (std::int64_t at = 0; at < prompt.count(); at += block_) {
    std::int64_t left = std::min(block_, prompt.count() - at);
    const bool one_run = run != content.end() && run->count - used >= left;
    if (one_run) place = 0;
    while (left > 0 && run != content.end()) {
      const std::int64_t count = std::min(left, run->count - used);
      const Step step{place, run->start + used, count};
      place = places_.try_emplace(step, std::ssize(places_) + 1).first->second;
      left -= count;
      used += count;
      if (used == run->count) {
        ++run;
        used = 0;
      }
    }
    if (left > 0) {
      run = content.end();  // nothing is known of what follows either
      ids.push_back(next_id_++);
      continue;
    }
    const auto [id, is_new] = id_of_place_.try_emplace(place, next_id_);
    if (is_new) ++next_id_;
    ids.push_back(id->second);
  }
}

}  // namespace blockyard::workload
