#include "sim/metrics/slo.h"

#include <algorithm>

#include "sim/metrics/gap_histogram.h"

namespace blockyard::metrics {
namespace {

// Which limits a finished request is beyond.
std::array<bool, kSloLimitNames.size()> beyond(const Slo& slo, const RequestRecord& r) {
  // tpot > limit, without the division: last - first > limit x gaps.
  const auto decode_ns = static_cast<Int128>((r.ended - r.first_token).count());
  return {slo.ttft && r.first_token - r.arrival > *slo.ttft,
          slo.tpot && decode_ns > static_cast<Int128>(slo.tpot->count()) * (r.generated_tokens - 1),
          slo.e2e && r.ended - r.arrival > *slo.e2e};
}

}  // namespace

bool count_misses(const Slo& slo, const RequestRecord& record, SloMisses& misses) {
  if (record.outcome != Outcome::finished) {
    ++misses.not_finished;
    return false;
  }
  const auto missed = beyond(slo, record);
  const auto limits = std::ranges::count(missed, true);
  for (std::size_t i = 0; i < missed.size(); ++i) {
    if (!missed[i]) continue;
    ++misses.limits[i].requests;
    if (limits == 1) ++misses.limits[i].alone;
  }
  return limits == 0;
}

}  // namespace blockyard::metrics
