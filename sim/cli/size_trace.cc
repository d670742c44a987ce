#include <algorithm>
#include <array>

#include "sim/cli/size_report.h"
#include "sim/workload/trace.h"

namespace blockyard::cli {

TraceFit measure_trace(const std::string& file, const std::string& format, const model::Sizing& s) {
  workload::TraceOptions how;
  how.format = format;
  const auto source = workload::open_trace(file, how);
  TraceFit fit;
  fit.file = file;
  double tokens = 0;
  double blocks = 0;
  double output = 0;
  double blocks_in_flight = 0;
  const std::int64_t usable = std::max<std::int64_t>(0, s.kv_blocks.count() - 1);
  std::array<workload::Request, 1024> rows;
  for (std::size_t n = source->read(rows); n > 0; n = source->read(rows)) {
    for (std::size_t i = 0; i < n; ++i) {
      const Tokens length = rows[i].prompt_tokens + rows[i].output_tokens;
      const std::int64_t taken = s.blocks_of(length).count();
      const auto written = static_cast<double>(rows[i].output_tokens.count());
      ++fit.requests;
      tokens += static_cast<double>(length.count());
      blocks += static_cast<double>(taken);
      output += written;
      blocks_in_flight += written * static_cast<double>(taken);
      fit.longest = std::max(fit.longest, length);
      if (length > s.max_model_len) ++fit.beyond_max_model_len;
      if (taken > usable) ++fit.never_fit;
    }
  }
  if (fit.requests == 0) return fit;
  const auto requests = static_cast<double>(fit.requests);
  fit.mean_tokens = tokens / requests;
  fit.mean_blocks = blocks / requests;
  fit.mean_blocks_in_flight = output > 0 ? blocks_in_flight / output : fit.mean_blocks;
  if (fit.mean_blocks > 0) fit.concurrency = static_cast<double>(usable) / fit.mean_blocks;
  if (fit.mean_blocks_in_flight > 0)
    fit.concurrency_in_flight = static_cast<double>(usable) / fit.mean_blocks_in_flight;
  return fit;
}

}  // namespace blockyard::cli
