#include "sim/report/csv.h"

#include "sim/base/decimal.h"

namespace blockyard::report {
namespace {

void append(fmt::memory_buffer& out, std::string_view text) { out.append(text.data(), text.data() + text.size()); }

void append_integer(fmt::memory_buffer& out, std::int64_t value) {
  const fmt::format_int digits(value);
  out.append(digits.data(), digits.data() + digits.size());
}

void append_field(fmt::memory_buffer& out, std::int64_t value) {
  out.push_back(',');
  append_integer(out, value);
}

void append_share(fmt::memory_buffer& out, SimTime part, SimTime whole) {
  const double share = whole > SimTime(0) ? to_seconds(part) / to_seconds(whole) : 0;
  fmt::format_to(fmt::appender(out), ",{:.6g}", share);
}

// A request turned away at its arrival never stood in the line.
bool stood_in_line(const metrics::RequestRecord& record) {
  return record.outcome != metrics::Outcome::rejected || record.reason == metrics::RejectReason::ignored_by_engine;
}

// The span from `from` to `to`, nothing if `to` never came.
void append_span(fmt::memory_buffer& out, SimTime from, SimTime to) {
  out.push_back(',');
  if (to != kNever) append_seconds(out, to - from);
}

}  // namespace

void append_seconds(fmt::memory_buffer& out, SimTime time) {
  constexpr int kPlaces = 9;
  append_decimal(out, time.count(), kPlaces);
}

std::string requests_header(bool replicas) {
  std::string header =
      "request,arrival_s,prompt_tokens,output_tokens,outcome,reason,admission_s,ttft_s,tpot_s,e2e_s,preemptions,stall_"
      "s,"
      "recomputed_tokens";
  for (const char* bucket : metrics::kTimeBucketNames) header += fmt::format(",{}_s", bucket);
  return header + (replicas ? ",tenant,slo_class,replica\n" : ",tenant,slo_class\n");
}

void append_request(fmt::memory_buffer& out, std::int64_t request, const metrics::RequestRecord& record,
                    const metrics::TimeRow& time, std::string_view slo_class, std::optional<std::string_view> replica) {
  const bool finished = record.outcome == metrics::Outcome::finished;
  append_integer(out, request);
  out.push_back(',');
  append_seconds(out, record.arrival);
  append_field(out, record.prompt_tokens);
  out.push_back(',');
  if (finished) append_integer(out, std::int64_t{record.generated_tokens} * record.samples);
  out.push_back(',');
  append(out, metrics::name_of(record.outcome));
  out.push_back(',');
  append(out, metrics::name_of(record.reason));
  append_span(out, record.arrival, record.admitted);
  append_span(out, record.arrival, record.first_token);
  out.push_back(',');
  if (finished && record.generated_tokens > 1) {
    const std::int64_t decode_ns = (record.ended - record.first_token).count();
    fmt::format_to(fmt::appender(out), "{}", static_cast<double>(decode_ns) / (record.generated_tokens - 1) / 1e9);
  }
  append_span(out, record.arrival, finished ? record.ended : kNever);
  append_field(out, record.preemptions);
  out.push_back(',');
  append_seconds(out, record.stall);
  append_field(out, record.recomputed_tokens);
  const bool has_time = record.ended != kNever && stood_in_line(record);
  for (const std::int64_t ns : time.ns) {
    out.push_back(',');
    if (has_time) append_seconds(out, SimTime(ns));
  }
  append_field(out, record.tenant);
  out.push_back(',');
  append(out, slo_class);
  if (replica) {
    out.push_back(',');
    append(out, *replica);
  }
  out.push_back('\n');
}

void append_request(fmt::memory_buffer& out, const metrics::Collector& collector, std::size_t request) {
  const metrics::RequestRecord& record = collector.records()[request];
  const std::optional<std::uint16_t> at = collector.replica_of(static_cast<metrics::RecordId>(request));
  const fmt::format_int number(at.value_or(0));
  std::optional<std::string_view> replica;
  if (collector.several_replicas()) replica = std::string_view(number.data(), at ? number.size() : 0);
  append_request(out, static_cast<std::int64_t>(request), record, collector.time().row(request),
                 collector.slo_class_of(record), replica);
}

void append_event_header(fmt::memory_buffer& out, bool replicas) {
  append(out, replicas ? "t_s,event,request,other,cause,replica\n" : "t_s,event,request,other,cause\n");
}

void append_event(fmt::memory_buffer& out, const metrics::Event& event, bool replicas) {
  const auto request = [&](metrics::RecordId id) {
    out.push_back(',');
    if (id != metrics::Event::nobody()) append_integer(out, static_cast<std::int64_t>(id));
  };
  append_seconds(out, event.time);
  out.push_back(',');
  append(out, metrics::kEventKindNames[static_cast<std::size_t>(event.kind)]);
  request(event.request);
  request(event.other);
  out.push_back(',');
  const bool kept_out = event.kind == metrics::EventKind::head && event.request != metrics::Event::nobody();
  if (kept_out) append(out, kQueueCauseNames[static_cast<std::size_t>(event.cause)]);
  if (replicas) append_field(out, event.replica);
  out.push_back('\n');
}

void append_time_series_header(fmt::memory_buffer& out) {
  append(out, "t_s,running,waiting");
  for (const char* state : kMemoryStateNames) {
    out.push_back(',');
    append(out, state);
    append(out, "_bytes");
  }
  append(out,
         ",largest_free_bytes,output_tokens,computed_tokens,host_live_bytes,swap_out_bytes,swap_in_bytes,preemptions,"
         "recomputed_tokens,waited_on_link_s,link_out_busy_share,link_in_busy_share\n");
}

void append_time_series_row(fmt::memory_buffer& out, const metrics::TimeSeriesRow& row, std::int64_t slot_bytes) {
  append_seconds(out, row.time);
  append_field(out, row.running);
  append_field(out, row.waiting);
  for (const std::int64_t slots : row.memory.slots) append_field(out, slots * slot_bytes);
  append_field(out, row.largest_free_slots * slot_bytes);
  append_field(out, row.output_tokens);
  append_field(out, row.computed_tokens);
  append_field(out, row.host_live.count());
  append_field(out, row.swapped_out.count());
  append_field(out, row.swapped_in.count());
  append_field(out, row.preemptions);
  append_field(out, row.recomputed_tokens);
  out.push_back(',');
  append_seconds(out, row.waited_on_link);
  const SimTime of_links(row.links * row.lasted.count());
  append_share(out, row.copied_out, of_links);
  append_share(out, row.copied_in, of_links);
  out.push_back('\n');
}

}  // namespace blockyard::report
