// Rows of any format to requests: drops rows by the lengths policy, puts late rows back, counts everything.
// Law of order: reading goes on while every row stands at most `reorder_window` kept rows below each row that is later
// than it; then the output is the stable sort of the whole file. One row further and the row's place is an error.
// How: at least reorder_window rows are held back, and only a stretch with a late row in it is sorted (stably, as a
// whole). In order: O(1) a row, no heap. Memory: two windows of requests and one of times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/workload/rate_scale.h"
#include "sim/workload/row_reader.h"
#include "sim/workload/seen_names.h"
#include "sim/workload/trace.h"

namespace blockyard::workload {

class OrderedTrace final : public TraceSource {
 public:
  OrderedTrace(std::unique_ptr<RowReader> rows, std::string format, const TraceOptions& options);

  std::size_t read(std::span<Request> out) override;
  [[nodiscard]] const ReadReport& report() const override { return report_; }

 private:
  void fill();
  [[nodiscard]] bool at_limit() const { return options_.limit && report_.kept >= *options_.limit; }
  void sort_held();
  void accept(const RowBatch& batch);
  void count_times(const RowBatch& batch, std::size_t size);
  [[nodiscard]] bool is_kept(const TraceRow& row) {
    const bool whole = row.prompt_tokens > 0 && row.output_tokens > 0;
    return (row.kind == RowKind::request && whole && row.timed) || is_kept_all_the_same(row);
  }
  [[nodiscard]] bool is_kept_all_the_same(const TraceRow& row);
  [[nodiscard]] bool has_lengths(const TraceRow& row);
  void note_order(const TraceRow& row) {
    if (row.time_ns < latest_ns_) [[unlikely]]
      note_late(row);
    latest_ns_ = std::max(latest_ns_, row.time_ns);
    latest_before_[ring_at_] = latest_ns_;
    ring_at_ = ring_at_ + 1 == latest_before_.size() ? 0 : ring_at_ + 1;
  }
  void note_late(const TraceRow& row);
  // The first request of a session has no answer to wait for, whatever the trace says, and neither has one without a
  // session. Which is the first shows only here, in order and without the rows that are left out.
  void place_in_session(Request& request) {
    const bool waits = request.session != 0 && !begun_.add(request.session);
    if (!waits) request.delay = kAtArrival;
    if (request.delay >= SimTime(0)) ++report_.waiting;
  }
  void count_bad(const RowBatch& batch, std::size_t index);
  [[nodiscard]] SimTime relative(SimTime time) const {
    const SimTime since_start = time - origin_;
    return options_.rate_scale == 1 && since_start <= kLongestSpan ? since_start : at_scale(since_start);
  }
  [[nodiscard]] SimTime at_scale(SimTime since_start) const;

  std::unique_ptr<RowReader> rows_;
  TraceOptions options_;
  ReadReport report_;
  std::unique_ptr<RowBatch> batch_;
  SeenNames begun_;  // sessions

  std::vector<Request> held_;  // [given_, ready_) may be given, the rest waits for rows that are late
  std::size_t given_ = 0;
  std::size_t ready_ = 0;
  bool ended_ = false;
  bool unsorted_ = false;
  bool started_ = false;
  SimTime origin_;

  std::int64_t earliest_ns_ = INT64_MAX;  // of all rows
  std::int64_t last_ns_ = 0;
  std::int64_t latest_ns_ = INT64_MIN;       // of the rows so far
  std::vector<std::int64_t> latest_before_;  // ring: latest_ns_ as it was after each of the last window + 1 rows
  std::size_t ring_at_ = 0;
};

}  // namespace blockyard::workload
