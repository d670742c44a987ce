// What a trace format has to provide: rows as the file has them, in file order, times in integer ns on the format's own
// clock. Dropping, ordering, limits and scaling happen once for all formats, in ordered_trace.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"
#include "sim/workload/request.h"

namespace blockyard::workload {

inline constexpr std::int64_t kMissingLength = INT64_MIN;
// A longer request is a mistake in the file; sums over 9 * 10^9 requests of this length still fit 64 bits.
inline constexpr std::int64_t kLongestLength = 1'000'000'000;

enum class RowKind : std::uint8_t {
  request,
  failed,         // the trace says that it got no answer
  not_a_request,  // a tool call, a conversation without an answer: nothing to simulate
};

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
  std::int32_t reused_tokens = kWholeSession;
  std::uint16_t category = 0;  // index in RowBatch::categories
  RowKind kind = RowKind::request;
  bool timed = true;  // false: the trace has no time for it; time_ns is then its session's, or 0
  std::int64_t delay_ns = kAtArrival.count();  // after the previous row of its session ended
  int line = 0;
};

// Rows of about kLines lines, small enough to stay in the first-level cache (one line may hold many rows).
struct RowBatch {
  static constexpr std::size_t kLines = 256;
  static constexpr std::size_t kMostCategories = 1000;
  static constexpr std::size_t kLongestCategory = 128;         // bytes; the rest is cut off
  std::vector<TraceRow> rows = std::vector<TraceRow>(kLines);  // the first `size` of them
  std::size_t size = 0;
  std::vector<Diagnostic> bad;              // malformed lines, left out of `rows`
  bool keep_prefix_ids = false;             // asked of the reader
  std::vector<std::int64_t> prefix_ids;     // of all rows, if kept
  Tokens prefix_block{512};                 // tokens an id stands for
  std::vector<std::string> categories{""};  // names, in order of first sight; they stay from batch to batch

  void clear() {
    size = 0;
    bad.clear();
    prefix_ids.clear();
  }
  // The number of a category. A trace has few; should it have more than kMostCategories, the rest share the last.
  std::uint16_t category(std::string_view name) {
    name = name.substr(0, kLongestCategory);
    for (std::size_t i = 0; i < categories.size(); ++i) {
      if (categories[i] == name) return static_cast<std::uint16_t>(i);
    }
    if (categories.size() == kMostCategories) return kMostCategories - 1;
    if (categories.size() + 1 == kMostCategories) name = "(others)";
    categories.emplace_back(name);
    return static_cast<std::uint16_t>(categories.size() - 1);
  }
  TraceRow& add() {
    if (size == rows.size()) rows.resize(2 * size);
    rows[size] = TraceRow{};
    return rows[size++];
  }
};

// Which counts of ids of prompt blocks are right: one for each begun block, one for each full block, or both.
enum class PartialIds : std::uint8_t { by_format, ceil, floor, either };

// What the user may tell a reader of the format.
struct ReaderOptions {
  bool header = true;           // false: a CSV that begins with its first row
  std::int64_t hash_block = 0;  // tokens an id of a prompt block stands for; 0 = the format's own
  PartialIds partial_ids = PartialIds::by_format;
};

class RowReader {
 public:
  virtual ~RowReader() = default;
  // Takes about RowBatch::kLines lines and replaces the batch by their rows; false = no line was left. Throws
  // InputError where reading cannot go on (a truncated file, a line without end).
  virtual bool read(RowBatch& batch) = 0;
  [[nodiscard]] virtual const std::string& file() const = 0;
};

}  // namespace blockyard::workload
