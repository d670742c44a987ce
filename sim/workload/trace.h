// A trace file as a stream of requests. open_trace reads plain, gzip, zstd (by their magic bytes) or "-" (standard
// input) in memory that does not grow with the file: rows are parsed as they are asked for. Laws: arrivals never
// decrease, equal times keep file order, and the first arrival is 0 (all are relative to the earliest kept row); rows
// == kept + dropped + bad_rows; nothing is repaired uncounted. Cost: a few tens of ns a row for CSV; O(reorder_window)
// memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/request.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

// What to do with a row whose prompt or output length is zero, negative or missing.
//   drop: leave it out and count it (a length of 0 or -1 marks a failed request in public traces)
//   keep: keep rows with an output of 0 (prefill only); the others cannot be simulated and are dropped and counted
//   fail: stop with the row's place
enum class BadLengths { drop, keep, fail };

// Rows that the trace itself calls failed, and records of other things than requests, are always left out and counted.
enum class DropReason : std::size_t {
  missing_length,
  negative_length,
  zero_prompt,
  zero_output,
  failed,
  not_a_request
};
inline constexpr std::size_t kDropReasons = 6;
inline constexpr std::array<const char*, kDropReasons> kDropReasonNames{
    "missing_length", "negative_length", "zero_prompt", "zero_output", "failed", "not_a_request"};

// What to do with a row that has no time: a list of lengths, or a turn of a session that starts when the one before it
// is answered.
//   refuse: an error with the row's place
//   keep:   it arrives when its session began, without a session at 0; Request::delay tells what the trace says of it
//   turns:  keep those that wait for an answer, refuse the others
enum class UntimedRows : std::uint8_t { refuse, keep, turns };

class ContentStore;

struct TraceOptions {
  std::string format = "auto";  // a name in trace_formats(), or auto: by header or first record
  BadLengths bad_lengths = BadLengths::drop;
  std::int64_t reorder_window = 65'536;  // an out-of-order row is put back when it stands at most this many rows late
  std::int64_t max_bad_rows = 0;         // malformed rows left out and counted before reading fails
  bool header = true;                    // false: a CSV without header, columns in the order of the (named) format
  std::optional<std::int64_t> limit;     // stop after this many kept rows, in file order
  ContentStore* contents =
      nullptr;  // where ids of prompt blocks are kept; it outlives the source. nullptr: they are only counted
  UntimedRows untimed = UntimedRows::refuse;
  std::int64_t hash_block = 0;                     // tokens an id of a prompt block stands for; 0 = the format's own
  PartialIds partial_ids = PartialIds::by_format;  // which counts of ids are right
  double rate_scale = 1;  // > 0; 2 = twice the rate. Arrivals (not gaps) are divided and rounded once to the nearest
                          // ns, so that no error adds up
};

// What was read so far; complete once the source has returned 0.
struct ReadReport {
  std::string format;             // the format used, e.g. "azure"
  std::int64_t rows = 0;          // data rows seen (blank lines are none)
  std::int64_t kept = 0;          // rows that became requests
  std::int64_t bad_rows = 0;      // malformed, within max_bad_rows
  std::int64_t out_of_order = 0;  // kept rows earlier than some row above them; put back in order
  std::int64_t kept_zero_output = 0;
  std::vector<Diagnostic> first_bad_rows;  // what is wrong with the first of them
  std::int64_t timed_rows = 0;             // rows with a time of their own, dropped ones too
  std::int64_t untimed = 0;                // kept rows without one
  std::int64_t waiting = 0;                // requests given whose client waits for the answer to the one before (delay)
  std::int64_t prefix_ids = 0;             // ids of prompt blocks seen, before any use of them
  std::int64_t hash_block = 0;             // tokens an id stands for; 0 = the trace has none
  Tokens stated_reuse;                     // prompt tokens that the trace itself says are repeated (reused_tokens)
  std::vector<std::string> categories;     // names of Request::category; 0 is the empty one
  std::vector<std::int64_t> category_rows;  // rows of each, dropped ones too
  SimTime origin;                           // of the first request, on the format's clock
  SimTime row_span;                         // from the earliest timed row to the latest, dropped ones too
  std::array<std::int64_t, kDropReasons> dropped_by_reason{};

  [[nodiscard]] std::int64_t dropped() const {
    std::int64_t sum = 0;
    for (const std::int64_t n : dropped_by_reason) sum += n;
    return sum;
  }
};

class TraceSource : public RequestSource {
 public:
  [[nodiscard]] virtual const ReadReport& report() const = 0;
};

// Throws InputError: no such file, a directory, an unknown format, columns that are missing, options out of range.
// read() throws it for rows, with file:line:column.
[[nodiscard]] std::unique_ptr<TraceSource> open_trace(const std::string& path, const TraceOptions& options = {});

// What a trace may tell, by its format, and where that leaves it open by its columns or the keys of its first record;
// false for what can be read only once, and for a file that open_trace would refuse. `format` as in TraceOptions.
// What do prompts share (ids of blocks, sessions, shared beginnings)?
[[nodiscard]] bool trace_tells_contents(const std::string& path, const std::string& format);
// Is there a Request::delay?
[[nodiscard]] bool trace_waits_for_answers(const std::string& path, const std::string& format);
// Is there more than one sample a request?
[[nodiscard]] bool trace_asks_samples(const std::string& path, const std::string& format);

}  // namespace blockyard::workload
