#include <algorithm>
#include <array>

#include "sim/cli/size_report.h"
#include "sim/workload/trace.h"

namespace blockyard::cli {
namespace {

// Of the requests so far, for one sizing.
struct Sums {
  double tokens = 0;
  double blocks = 0;
  double output = 0;
  double blocks_in_flight = 0;
};

std::int64_t usable_blocks(const model::Sizing& s) { return std::max<std::int64_t>(0, s.kv_blocks.count() - 1); }

void add(const workload::Request& request, const model::Sizing& s, TraceFit& fit, Sums& sums) {
  const Tokens length = request.prompt_tokens + request.output_tokens;
  const std::int64_t taken = s.blocks_of(length).count();
  const auto written = static_cast<double>(request.output_tokens.count());
  ++fit.requests;
  sums.tokens += static_cast<double>(length.count());
  sums.blocks += static_cast<double>(taken);
  sums.output += written;
  sums.blocks_in_flight += written * static_cast<double>(taken);
  fit.longest = std::max(fit.longest, length);
  if (length > s.max_model_len) ++fit.beyond_max_model_len;
  if (taken > usable_blocks(s)) ++fit.never_fit;
}

void finish(const model::Sizing& s, const Sums& sums, TraceFit& fit) {
  if (fit.requests == 0) return;
  const auto requests = static_cast<double>(fit.requests);
  const auto usable = static_cast<double>(usable_blocks(s));
  fit.mean_tokens = sums.tokens / requests;
  fit.mean_blocks = sums.blocks / requests;
  fit.mean_blocks_in_flight = sums.output > 0 ? sums.blocks_in_flight / sums.output : fit.mean_blocks;
  if (fit.mean_blocks > 0) fit.concurrency = usable / fit.mean_blocks;
  if (fit.mean_blocks_in_flight > 0) fit.concurrency_in_flight = usable / fit.mean_blocks_in_flight;
}

}  // namespace

std::vector<TraceFit> measure_trace(const std::string& file, const std::string& format,
                                    const std::vector<model::Sizing>& sizings) {
  workload::TraceOptions how;
  how.format = format;
  const auto source = workload::open_trace(file, how);
  std::vector<TraceFit> fits(sizings.size());
  std::vector<Sums> sums(sizings.size());
  for (TraceFit& fit : fits) fit.file = file;
  std::array<workload::Request, 1024> rows;
  for (std::size_t n = source->read(rows); n > 0; n = source->read(rows)) {
    for (std::size_t i = 0; i < sizings.size(); ++i) {
      for (std::size_t row = 0; row < n; ++row) add(rows[row], sizings[i], fits[i], sums[i]);
    }
  }
  for (std::size_t i = 0; i < sizings.size(); ++i) finish(sizings[i], sums[i], fits[i]);
  return fits;
}

}  // namespace blockyard::cli
