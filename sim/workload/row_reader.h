// What a trace format has to provide: rows as the file has them, in file order, times in integer ns on the format's own
// clock. Dropping, ordering, limits and scaling happen once for all formats, in ordered_trace.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"

namespace blockyard::workload {

inline constexpr std::int64_t kMissingLength = INT64_MIN;
// A longer request is a mistake in the file; sums over 9 * 10^9 requests of this length still fit 64 bits.
inline constexpr std::int64_t kLongestLength = 1'000'000'000;

struct TraceRow {
  std::int64_t time_ns = 0;  // >= 0, from the format's origin (the epoch, the trace's start, ...)
  std::int64_t prompt_tokens = kMissingLength;
  std::int64_t output_tokens = kMissingLength;
  std::int64_t max_tokens = kMissingLength;  // missing = the output length
  std::int32_t priority = 0;
  std::uint32_t tenant = 0;
  std::uint32_t session = 0;
  std::uint32_t prefix = 0;
  std::int64_t prefix_tokens = 0;
  std::int32_t samples = 1;
  std::int32_t prefix_ids = 0;      // ids of prompt blocks given with the row
  std::size_t first_prefix_id = 0;  // where they begin in the batch's list, if they are kept
  int line = 0;
};

// Rows of up to kLines lines, small enough to stay in the first-level cache.
struct RowBatch {
  static constexpr std::size_t kLines = 256;
  std::array<TraceRow, kLines> rows;
  std::size_t size = 0;
  std::vector<Diagnostic> bad;           // malformed lines, left out of `rows`
  bool keep_prefix_ids = false;          // asked of the reader
  std::vector<std::int64_t> prefix_ids;  // of all rows, if kept
  Tokens prefix_block{512};              // tokens an id stands for
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  // Takes up to RowBatch::kLines lines and replaces the batch by their rows; false = no line was left. Throws
  // InputError where reading cannot go on (a truncated file, a line without end).
  virtual bool read(RowBatch& batch) = 0;
  [[nodiscard]] virtual const std::string& file() const = 0;
};

}  // namespace blockyard::workload
