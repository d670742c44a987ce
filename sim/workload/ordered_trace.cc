#include "sim/workload/ordered_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/workload/content_store.h"
#include "sim/workload/trace_formats.h"

namespace blockyard::workload {
namespace {

constexpr std::int64_t kLargestWindow = 100'000'000;
constexpr std::size_t kSmallestStretch = 4096;
constexpr std::size_t kBadRowsShown = 10;
constexpr std::int64_t kLargestHashBlock = 1'000'000;
void check(const TraceOptions& options) {
  Diagnostics errors;
  if (options.reorder_window < 0 || options.reorder_window > kLargestWindow) {
    errors.add({},
               fmt::format("reorder_window: found {}, expected 0 to {} rows", options.reorder_window, kLargestWindow));
  }
  if (options.max_bad_rows < 0) {
    errors.add({}, fmt::format("max_bad_rows: found {}, expected 0 or more", options.max_bad_rows));
  }
  if (options.limit && *options.limit < 0) {
    errors.add({}, fmt::format("limit: found {}, expected 0 or more rows", *options.limit));
  }
  if (!(options.rate_scale > 0) || !std::isfinite(options.rate_scale)) {
    errors.add({}, fmt::format("rate_scale: found {}, expected a number above 0", options.rate_scale));
  }
  if (options.hash_block < 0 || options.hash_block > kLargestHashBlock) {
    errors.add({}, fmt::format("hash_block: found {}, expected 1 to {} tokens", options.hash_block, kLargestHashBlock));
  }
  if (!options.header && options.format == "auto") {
    errors.add({}, "a trace without header needs its format named");
  }
  errors.throw_if_any();
}

}  // namespace

OrderedTrace::OrderedTrace(std::unique_ptr<RowReader> rows, std::string format, const TraceOptions& options)
    : rows_(std::move(rows)),
      options_(options),
      batch_(std::make_unique<RowBatch>()),
      latest_before_(static_cast<std::size_t>(options.reorder_window) + 1, INT64_MIN) {
  report_.format = std::move(format);
  batch_->keep_prefix_ids = options.contents != nullptr;
}

std::size_t OrderedTrace::read(std::span<Request> out) {
  if (given_ == ready_) fill();
  const std::size_t count = std::min(out.size(), ready_ - given_);
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = held_[given_ + i];
    out[i].arrival = relative(out[i].arrival);
    place_in_session(out[i]);
  }
  given_ += count;
  return count;
}

void OrderedTrace::fill() {
  const std::size_t window = static_cast<std::size_t>(options_.reorder_window);
  const std::size_t target = window + std::max(window, kSmallestStretch);
  held_.erase(held_.begin(), held_.begin() + static_cast<std::ptrdiff_t>(given_));
  held_.reserve(target + RowBatch::kLines);
  given_ = 0;
  while (!ended_ && held_.size() < target) {
    if (!at_limit() && rows_->read(*batch_)) {
      accept(*batch_);
    } else {
      ended_ = true;
    }
  }
  if (unsorted_) sort_held();
  ready_ = ended_ ? held_.size() : held_.size() - window;
  if (!started_ && !held_.empty()) {
    origin_ = held_.front().arrival;
    report_.origin = origin_;
    started_ = true;
  }
}

// By (arrival, place in the list), which makes it stable.
void OrderedTrace::sort_held() {
  std::vector<std::size_t> order(held_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(held_[a].arrival, a) < std::pair(held_[b].arrival, b);
  });
  std::vector<Request> sorted;
  sorted.reserve(held_.capacity());
  for (const std::size_t index : order) sorted.push_back(held_[index]);
  held_.swap(sorted);
  unsorted_ = false;
}

void OrderedTrace::accept(const RowBatch& batch) {
  if (report_.categories.size() < batch.categories.size()) {
    report_.categories = batch.categories;
    report_.category_rows.resize(batch.categories.size());
  }
  std::size_t bad = 0;
  std::size_t size = 0;
  for (; size < batch.size && !at_limit(); ++size) {
    const TraceRow& row = batch.rows[size];
    while (bad < batch.bad.size() && batch.bad[bad].place.line < row.line) count_bad(batch, bad++);
    ++report_.rows;
    report_.prefix_ids += row.prefix_ids;
    ++report_.category_rows[row.category];
    if (!is_kept(row)) continue;
    note_order(row);
    ++report_.kept;
    if (row.reused_tokens != kWholeSession) {
      report_.stated_reuse += Tokens(std::min<std::int64_t>(row.reused_tokens, row.prompt_tokens));
    }
    Request& request = held_.emplace_back();
    request.arrival = SimTime(row.time_ns);
    request.prompt_tokens = Tokens(row.prompt_tokens);
    request.output_tokens = Tokens(row.output_tokens);
    request.max_tokens = Tokens(row.max_tokens == kMissingLength ? row.output_tokens : row.max_tokens);
    request.priority = row.priority;
    request.tenant = row.tenant;
    request.samples = row.samples;
    request.session = row.session;
    request.prefix = row.prefix;
    request.prefix_tokens =
        static_cast<std::int32_t>(std::clamp<std::int64_t>(row.prefix_tokens, 0, row.prompt_tokens));
    request.reused_tokens = row.reused_tokens;
    request.category = row.category;
    request.delay = SimTime(row.delay_ns);
    if (options_.contents != nullptr && row.prefix_ids > 0) {
      const auto ids =
          std::span(batch.prefix_ids).subspan(row.first_prefix_id, static_cast<std::size_t>(row.prefix_ids));
      request.content = options_.contents->add(ids, batch.prefix_block, request.prompt_tokens);
    }
  }
  while (bad < batch.bad.size() && !at_limit()) count_bad(batch, bad++);
  if (report_.prefix_ids > 0) report_.hash_block = batch.prefix_block.count();
  count_times(batch, size);
}

// Once a batch: the times of its rows up to `size`.
void OrderedTrace::count_times(const RowBatch& batch, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) {
    const TraceRow& row = batch.rows[i];
    if (!row.timed) continue;
    ++report_.timed_rows;
    earliest_ns_ = std::min(earliest_ns_, row.time_ns);
    last_ns_ = std::max(last_ns_, row.time_ns);
  }
  if (last_ns_ > earliest_ns_) report_.row_span = SimTime(last_ns_ - earliest_ns_);
}

bool OrderedTrace::is_kept_all_the_same(const TraceRow& row) {
  if (row.kind != RowKind::request) [[unlikely]] {
    const DropReason reason = row.kind == RowKind::failed ? DropReason::failed : DropReason::not_a_request;
    ++report_.dropped_by_reason[static_cast<std::size_t>(reason)];
    return false;
  }
  if (!has_lengths(row)) return false;
  if (!row.timed) [[unlikely]] {
    const bool known_later = options_.untimed == UntimedRows::turns && row.delay_ns >= 0;
    if (options_.untimed != UntimedRows::keep && !known_later) {
      throw InputError({rows_->file(), row.line},
                       row.delay_ns >= 0 ? "the request has no time: it is sent when the answer to its session's last "
                                           "one is there; this needs a closed loop (clients.mode: sessions), or "
                                           "untimed: keep"
                                         : "the request has no time, only lengths; untimed: keep lets all arrive at 0");
    }
    ++report_.untimed;
  }
  return true;
}

bool OrderedTrace::has_lengths(const TraceRow& row) {
  if (row.prompt_tokens > 0 && row.output_tokens > 0) [[likely]]
    return true;
  DropReason reason = DropReason::zero_output;
  if (row.prompt_tokens == kMissingLength || row.output_tokens == kMissingLength) {
    reason = DropReason::missing_length;
  } else if (row.prompt_tokens < 0 || row.output_tokens < 0) {
    reason = DropReason::negative_length;
  } else if (row.prompt_tokens == 0) {
    reason = DropReason::zero_prompt;
  } else if (options_.bad_lengths == BadLengths::keep) {
    ++report_.kept_zero_output;
    return true;
  }
  const std::size_t index = static_cast<std::size_t>(reason);
  if (options_.bad_lengths == BadLengths::fail) {
    throw InputError(
        {rows_->file(), row.line},
        fmt::format("{}: such rows are refused here; drop or keep them by option", kDropReasonNames[index]));
  }
  ++report_.dropped_by_reason[index];
  return false;
}

void OrderedTrace::note_late(const TraceRow& row) {
  ++report_.out_of_order;
  unsorted_ = true;
  if (row.time_ns >= latest_before_[ring_at_]) return;
  throw InputError(
      {rows_->file(), row.line},
      fmt::format("the row is {:.9g} s earlier than a row more than reorder_window = {} rows above it; sort the file "
                  "by time, or raise reorder_window",
                  static_cast<double>(latest_before_[ring_at_] - row.time_ns) / 1e9, options_.reorder_window));
}

// Counts one malformed row; past the tolerance, throws it with its neighbours, so that the user sees several at once.
void OrderedTrace::count_bad(const RowBatch& batch, std::size_t index) {
  ++report_.bad_rows;
  ++report_.rows;
  std::vector<Diagnostic>& shown = report_.first_bad_rows;
  if (report_.bad_rows <= options_.max_bad_rows) {
    if (shown.size() < kBadRowsShown) shown.push_back(batch.bad[index]);
    return;
  }
  for (std::size_t i = index; i < batch.bad.size() && (i == index || shown.size() < kBadRowsShown); ++i) {
    shown.push_back(batch.bad[i]);
  }
  if (options_.max_bad_rows > 0) {
    shown.push_back(
        {batch.bad[index].place, fmt::format("more malformed rows than max_bad_rows = {}", options_.max_bad_rows)});
  }
  throw InputError(shown);
}

SimTime OrderedTrace::at_scale(SimTime since_start) const {
  if (since_start > kLongestSpan) throw InputError({rows_->file()}, "the trace spans more than 200 years");
  return scaled(since_start, options_.rate_scale, rows_->file());
}

std::unique_ptr<TraceSource> open_trace(const std::string& path, const TraceOptions& options) {
  check(options);
  LineReader lines(display_name(path), open_bytes(path));
  const TraceFormat& format = find_trace_format(options.format, lines);
  return std::make_unique<OrderedTrace>(
      format.open(std::move(lines), {options.header, options.hash_block, options.partial_ids}),
      std::string(format.name), options);
}

bool trace_tells_contents(const std::string& path, const std::string& format) {
  return ask_opening(path, format, &TraceFormat::tells_contents);
}

bool trace_waits_for_answers(const std::string& path, const std::string& format) {
  return ask_opening(path, format, &TraceFormat::waits_for_answers);
}

bool trace_asks_samples(const std::string& path, const std::string& format) {
  return ask_opening(path, format, &TraceFormat::asks_samples);
}

}  // namespace blockyard::workload
