#include "sim/serving/run.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/serving/assemble.h"

namespace blockyard::serving {
namespace {

bool reads_as_it_stands(const workload::ReadReport& r) {
  return r.dropped() == 0 && r.bad_rows == 0 && r.untimed == 0 && r.out_of_order == 0;
}

std::string what_was_read(const workload::ReadReport& r) {
  std::string note = fmt::format("trace format {}: {} rows read", r.format, r.rows);
  for (std::size_t i = 0; i < workload::kDropReasons; ++i) {
    if (r.dropped_by_reason[i] > 0)
      note += fmt::format(", {} dropped ({})", r.dropped_by_reason[i], workload::kDropReasonNames[i]);
  }
  if (r.bad_rows > 0) note += fmt::format(", {} malformed and left out", r.bad_rows);
  if (r.untimed > 0) note += fmt::format(", {} without a time of their own", r.untimed);
  if (r.out_of_order > 0) note += fmt::format(", {} out of order and put back", r.out_of_order);
  return note;
}

// Figures are of the others: with more than one in a hundred turned away they describe another workload.
void warn_of_rejections(const scenario::Document& scenario, const AdmissionOptions& admission,
                        metrics::Summary& summary) {
  const auto warn = [&](metrics::RejectReason reason, const std::string& why) {
    const std::int64_t n = summary.rejected_by_reason[static_cast<std::size_t>(reason)];
    if (100 * n <= summary.arrived) return;
    summary.warnings.push_back(
        fmt::format("{} of {} requests were rejected, {}: all latencies are of the others", n, summary.arrived, why));
  };
  warn(metrics::RejectReason::prompt_too_long,
       fmt::format("their prompts reach engine.max_model_len = {}", admission.max_model_len.count()));
  std::string why = "the KV pool could never hold them (kv_cache.budget";
  if (scenario.choice("kv_cache.strategy") == "contiguous") why += ", kv_cache.reservation";
  if (admission.watermark_grains > 0) why += ", admission.watermark";
  warn(metrics::RejectReason::never_fits, why + ")");
  warn(metrics::RejectReason::queue_full, "the queue was full (admission.max_queue)");
  warn(metrics::RejectReason::over_length, "their prompt + max_tokens exceed engine.max_model_len");
  warn(metrics::RejectReason::rate_limited, "their tenant's rate was used up (admission.rate_limit)");
}

// Rows of a trace that go beyond the model: none is lost uncounted.
void note_too_long(const AdmissionOptions& admission, std::int64_t cut, metrics::Summary& summary) {
  const std::int64_t rejected =
      summary.rejected_by_reason[static_cast<std::size_t>(metrics::RejectReason::prompt_too_long)];
  if (rejected + cut == 0) return;
  summary.identity.notes.push_back(
      fmt::format("prompt and output of {} requests go beyond engine.max_model_len = {}: {} were rejected, since their "
                  "prompts alone "
                  "reach it, and {} end there, their outputs cut short",
                  rejected + cut, admission.max_model_len.count(), rejected, cut));
}

// The tokens found, computed in full chunks by themselves: as many chunks as they fill, each behind a context that
// makes their attention what it would have been.
Seconds saved_prefill(const CacheLedger& ledger, Tokens chunk, cost::CostModel& cost) {
  std::int64_t tokens = 0;
  for (const std::int64_t n : ledger.hit_tokens) tokens += n;
  if (tokens == 0) return 0;
  const auto n = static_cast<double>(tokens);
  const auto length = static_cast<double>(std::min(chunk.count(), tokens));
  const double context = std::max(0.0, (ledger.hit_tokens_squared / n - length) / 2);
  cost::StepWork work;
  cost.add_chunk(work, Tokens(std::llround(length)), Tokens(std::llround(context)));
  return to_seconds(cost.step(work) - cost.empty_step()) * n / length;
}

// Of all replicas: sums, and of links the mean.
std::optional<CacheLedger> cache_ledger(const Assembly& a) {
  std::optional<CacheLedger> all = a.engines.front().memory->cache_ledger();
  if (!all) return all;
  for (std::size_t i = 1; i < a.engines.size(); ++i) *all += *a.engines[i].memory->cache_ledger();
  return all;
}

void describe_tiers(const Assembly& a, SimTime end, metrics::Summary& summary) {
  if (a.engines.front().tier_paths == nullptr) return;
  metrics::PrefixCacheWork& work = *summary.prefix_cache_work;
  work.block = Bytes(a.replica.block_bytes);
  if (summary.makespan_s == 0) return;
  const double span = summary.makespan_s * static_cast<double>(a.engines.size());
  for (const TierLedger& tier : work.ledger.tiers) {
    const auto known = std::ranges::find(kv::kTierNames, std::string_view(tier.name));
    SimTime out;
    SimTime in;
    for (const EngineParts& each : a.engines) {
      const auto* store = each.tier_paths->store_link(static_cast<kv::Tier>(known - kv::kTierNames.begin()));
      const cost::HostLink& link = store == nullptr ? each.tier_paths->host() : *store;
      out += link.busy(cost::Direction::out, end);
      in += link.busy(cost::Direction::in, end);
    }
    work.tier_links.push_back({to_seconds(out) / span, to_seconds(in) / span});
  }
}

// Swaps and tiers go over one link.
void tell_copies(Assembly& a, metrics::Collector& collector) {
  for (std::size_t replica = 0; replica < a.engines.size(); ++replica) {
    const auto tell = [&collector, replica](cost::Direction direction, SimTime begin, SimTime end) {
      if (direction == cost::Direction::out) {
        collector.copies_out(replica, begin, end);
      } else {
        collector.copies_in(replica, begin, end);
      }
    };
    if (a.engines[replica].host_link != nullptr) a.engines[replica].host_link->listen(tell);
  }
}

RunEnd simulate(Assembly& a, metrics::Collector& collector, const RunControl& control) {
  Cluster cluster = make_cluster(a, collector);
  Simulation simulation(a.admission, *a.requests, cluster, *a.engines.front().memory, collector, a.contents.get(),
                        a.clients.get());
  simulation.limit(a.limits);
  return simulation.run(
      [&](const RunProgress& progress) { return !control.go_on || control.go_on(progress, a.expected_requests); });
}

// Where statistics end: the last arrival is found by a run of its own.
SimTime end_of_window(const scenario::Document& scenario, const std::filesystem::path& configs,
                      const RunControl& control, kv::RecordedUses& uses) {
  if (scenario.is_word("run.cool_down", "none")) return kNever;
  Assembly first = assemble(scenario, configs, control.requests, control.constants, {&uses, false});
  first.metrics.timeseries_interval = SimTime(0);
  metrics::Collector seen(first.metrics);
  static_cast<void>(simulate(first, seen, control));
  if (seen.records().empty()) return kNever;
  const SimTime to = seen.records().back().arrival - scenario.time("run.cool_down");
  if (to <= first.limits.warm_up) {
    throw InputError(scenario.place("run.cool_down"),
                     fmt::format("run.cool_down: the last request arrives at {:.6g} s: nothing is left between warm-up "
                                 "and cool-down",
                                 to_seconds(seen.records().back().arrival)));
  }
  return to;
}

// An order by tenants has nothing to choose between where there is one.
void note_one_tenant(const scenario::Document& scenario, const std::vector<metrics::RequestRecord>& records,
                     metrics::Summary& summary) {
  if (scenario.choice("engine.queue_order") != "fair" || records.empty()) return;
  const auto same = [&](const metrics::RequestRecord& r) { return r.tenant == records.front().tenant; };
  if (std::ranges::all_of(records, same))
    summary.identity.notes.emplace_back("engine.queue_order: fair: all requests are of one tenant");
}

}  // namespace

RunResult run(const scenario::Document& scenario, const std::filesystem::path& configs, const RunControl& control) {
  kv::RecordedUses uses;
  if (needs_recording(scenario, control.requests)) {
    Assembly first = assemble(scenario, configs, control.requests, control.constants, {&uses, true});
    first.metrics.timeseries_interval = SimTime(0);
    metrics::Collector nobody(first.metrics);
    static_cast<void>(simulate(first, nobody, control));
  }
  const SimTime window_to = end_of_window(scenario, configs, control, uses);
  Assembly a = assemble(scenario, configs, control.requests, control.constants, {&uses, false});
  a.metrics.window_to = window_to;
  if (!control.time_series) a.metrics.timeseries_interval = SimTime(0);
  metrics::Collector collector(a.metrics);
  const bool events = scenario.boolean("output.events");
  if (control.time_series) collector.time().keep_rows();
  if (control.time_series && events) {
    collector.time().keep_events();
    for (EngineParts& each : a.engines) each.scheduler->name_beneficiaries();
  }
  if (control.memory_changed) {
    a.replica.memory_changed = [&, piece = Bytes(a.metrics.slot_bytes)](SimTime now, const MemoryChange& change) {
      control.memory_changed(now, change, piece);
    };
  }
  a.replica.step_taken = control.step_taken;
  tell_copies(a, collector);
  const RunEnd end = simulate(a, collector, control);

  metrics::Summary summary = collector.summarise();
  if (const auto ledger = cache_ledger(a)) {
    summary.prefix_cache_work = {*ledger, saved_prefill(*ledger, a.longest_chunk, *a.cost)};
    describe_tiers(a, end.end, summary);
  }
  summary.identity = std::move(a.identity);
  std::string clients = a.clients != nullptr ? a.clients->description() : kOpenLoop;
  if (a.mode == ClientMode::open && end.with_delay > 0)
    clients += fmt::format("; the delays of {} requests after an answer are not used", end.with_delay);
  summary.identity.notes.insert(summary.identity.notes.begin(), std::move(clients));
  summary.interrupted = end.interrupted;
  summary.stuck = end.stuck;
  std::string read;
  if (a.trace != nullptr) {
    read = what_was_read(a.trace->report());
    if (const std::int64_t own = a.trace->report().hash_block;
        own > 0 && a.warm_hash_block > 0 && own != a.warm_hash_block) {
      summary.warnings.push_back(fmt::format(
          "prefix_cache.warm: its ids stand for blocks of {} tokens, those of the trace for {}: one id is not "
          "the same content in both",
          a.warm_hash_block, own));
    }
    if (!reads_as_it_stands(a.trace->report())) summary.identity.notes.push_back(std::exchange(read, {}));
  }
  note_one_tenant(scenario, collector.records(), summary);
  if (!end.stopped.empty()) summary.identity.notes.push_back("the run was stopped by " + end.stopped);
  warn_of_rejections(scenario, a.admission, summary);
  note_too_long(a.admission, end.cut, summary);
  if (end.truncated > 0) {
    summary.identity.notes.push_back(fmt::format(
        "{} prompts were cut to fit with max_tokens into engine.max_model_len (admission.over_length)", end.truncated));
  }
  if (const auto& log = collector.time().events(); log && log->left_out() > 0) {
    summary.warnings.push_back(
        fmt::format("events.csv ends after {} events; {} more are left out", log->events().size(), log->left_out()));
  }
  for (const std::string& key : scenario.unused()) {
    summary.identity.notes.push_back(fmt::format("{} is given and has no effect here", key));
  }
  return {std::move(summary), std::move(collector), std::move(read)};
}

}  // namespace blockyard::serving
