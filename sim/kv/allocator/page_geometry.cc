#include "sim/kv/allocator/page_geometry.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/check.h"

namespace blockyard::kv {

PageGeometry::PageGeometry(Bytes page, std::vector<Tensors> tensors)
    : page_bytes_(page.count()), token_bytes_(0), piece_bytes_(page.count()), tensors_(std::move(tensors)) {
  for (const Tensors& t : tensors_) {
    CHECK_LAW(t.token_bytes > 0 && t.count > 0, "{} tensors of {} bytes a token", t.count, t.token_bytes);
    token_bytes_ += t.count * t.token_bytes;
    piece_bytes_ = std::gcd(piece_bytes_, t.token_bytes);
  }
}

std::int64_t PageGeometry::pages_for(Tokens tokens) const {
  std::int64_t pages = 0;
  for (const Tensors& t : tensors_) pages += t.count * pages_of(t, tokens);
  return pages;
}

Tokens PageGeometry::filled(Tokens tokens) const {
  if (tokens == Tokens(0)) return tokens;
  std::int64_t most = INT64_MAX;
  for (const Tensors& t : tensors_) most = std::min(most, pages_of(t, tokens) * page_bytes_ / t.token_bytes);
  return Tokens(most);
}

Tokens PageGeometry::one_step_less(Tokens tokens) const {
  std::int64_t most = 0;
  for (const Tensors& t : tensors_) most = std::max(most, (pages_of(t, tokens) - 1) * page_bytes_ / t.token_bytes);
  return Tokens(most);
}

Tokens PageGeometry::most_tokens(std::int64_t pages) const {
  std::int64_t low = 0;  // fits
  std::int64_t high = pages * page_bytes_ / token_bytes_ + 1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (pages_for(Tokens(middle)) <= pages ? low : high) = middle;
  }
  return Tokens(low);
}

}  // namespace blockyard::kv
