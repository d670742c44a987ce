// Edits of a trace on its way into another file, in this order: a window of time, the first so many of it, a limit on
// the context, a sample, a scale of the rate. What is left out is counted, and its content dropped. The first request
// that is left arrives at 0.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/workload/content_store.h"
#include "sim/workload/request.h"
#include "sim/workload/trace.h"
#include "sim/workload/trace_sample.h"

namespace blockyard::workload {

// A moment of a trace: `600` or `600s` after its first request; `10:00` or `10:00:30.5` after the midnight before it,
// by the trace's clock (which begins at 0 where a trace has no dates; hours go on past 24 over several days); or a date
// and time.
struct Moment {
  enum class From : std::uint8_t { first_request, midnight, epoch };
  From from = From::first_request;
  SimTime time;

  // On the time line of a trace whose first request came `origin` after the beginning of its clock and is at 0.
  [[nodiscard]] SimTime after_first(SimTime origin) const;
};

struct Window {
  std::optional<Moment> from;  // requests at or after it
  std::optional<Moment> to;    // and before it
};

// "FROM..TO", each side may be left out. Throws InputError.
[[nodiscard]] Window parse_window(std::string_view text);

struct TraceEdits {
  Window window;
  std::optional<std::int64_t> first;  // requests of the window; the trace is read no further
  Tokens max_model_len{0};            // 0 = no limit
  bool clip = false;                  // longer requests are cut to the limit instead of left out
  double rate_scale = 1;
  bool scale_delays = false;  // think times too
};

struct EditReport {
  std::int64_t outside_window = 0;
  std::int64_t over_limit = 0;  // left out, or cut
  std::int64_t not_sampled = 0;
};

class EditedTrace final : public RequestSource {
 public:
  // `read`: the report of the trace behind the source. `sample` may be nullptr; so may `contents`.
  EditedTrace(std::unique_ptr<RequestSource> source, const ReadReport& read, const TraceEdits& edits,
              TraceSample* sample, ContentStore* contents);

  std::size_t read(std::span<Request> out) override;
  [[nodiscard]] const EditReport& report() const { return report_; }
  // The arrival of the last request read, before any edit.
  [[nodiscard]] SimTime seen_until() const { return seen_until_; }

 private:
  [[nodiscard]] bool keeps(Request& request);
  [[nodiscard]] bool fits(Request& request);
  void place(Request& request);
  [[nodiscard]] bool in_window(const Request& request) const;

  std::unique_ptr<RequestSource> source_;
  const ReadReport& read_;
  TraceEdits edits_;
  TraceSample* sample_;
  ContentStore* contents_;
  std::optional<SimTime> first_;
  SimTime seen_until_;
  std::int64_t in_window_count_ = 0;
  EditReport report_;
};

}  // namespace blockyard::workload
