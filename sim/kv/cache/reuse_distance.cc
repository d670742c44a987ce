#include "sim/kv/cache/reuse_distance.h"

#include <algorithm>
#include <cmath>

namespace blockyard::kv {
namespace {

// Which moments saw a block's last use, as a binary indexed tree: the moments after one, counted, are a distance.
class LastUses {
 public:
  explicit LastUses(std::int64_t moments) : sums_(static_cast<std::size_t>(moments) + 1) {}

  void change(std::int64_t moment, std::int64_t by) {
    for (auto i = static_cast<std::size_t>(moment) + 1; i < sums_.size(); i += i & (~i + 1)) sums_[i] += by;
    all_ += by;
  }
  [[nodiscard]] std::int64_t from(std::int64_t moment) const {
    std::int64_t before = 0;
    for (auto i = static_cast<std::size_t>(moment); i > 0; i -= i & (~i + 1)) before += sums_[i];
    return all_ - before;
  }

 private:
  std::vector<std::int64_t> sums_;
  std::int64_t all_ = 0;
};

void add(std::vector<std::int64_t>& counts, std::int64_t distance, std::int64_t by) {
  const auto at = static_cast<std::size_t>(distance);
  if (at >= counts.size()) counts.resize(at + 1);
  counts[at] += by;
}

}  // namespace

ReuseDistances::ReuseDistances(const ReferenceString& references) {
  constexpr std::int64_t kNever = -1;
  LastUses uses(references.all_blocks());
  std::vector<std::int64_t> last(references.contents(), kNever);
  std::int64_t now = 0;
  for (const ReferenceString::Request& request : references.requests()) {
    const auto ids = references.ids(request);
    std::int64_t distance = 0;
    for (std::uint32_t i = 0; i < request.looked_up && last[ids[i]] != kNever; ++i) {
      distance = std::max(distance, uses.from(last[ids[i]]));
      add(blocks_, distance, 1);
      add(tokens_, distance, references.tokens(request, i + 1) - references.tokens(request, i));
      add(requests_, distance, i == 0 ? 1 : 0);
    }
    for (std::uint32_t i = request.kept; i-- > 0;) {
      std::int64_t& moment = last[ids[i]];
      if (moment != kNever) uses.change(moment, -1);
      moment = now++;
      uses.change(moment, 1);
    }
  }
  for (auto* counts : {&blocks_, &tokens_, &requests_}) {
    for (std::size_t i = 1; i < counts->size(); ++i) (*counts)[i] += (*counts)[i - 1];
  }
}

std::int64_t ReuseDistances::quantile(double share) const {
  const auto wanted = static_cast<std::int64_t>(std::ceil(share * static_cast<double>(blocks_.back())));
  return std::lower_bound(blocks_.begin(), blocks_.end(), wanted) - blocks_.begin();
}

}  // namespace blockyard::kv
