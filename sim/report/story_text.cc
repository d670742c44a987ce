// A story as a screen, and as JSON.
#include <fmt/format.h>

#include <algorithm>

#include "sim/base/stable_order.h"
#include "sim/report/figures.h"
#include "sim/report/story.h"
#include "sim/report/text_table.h"

namespace blockyard::report {
namespace {

using nlohmann::ordered_json;

constexpr std::size_t kColumns = 100;

// What happened, line by line, put into the order of time at the end.
class Timeline {
 public:
  void add(SimTime time, std::string_view text) {
    lines_.emplace_back(time, wrapped(fmt::format("{:>12.6f} s  ", to_seconds(time)), text, kColumns, indent_));
  }
  void add_note(SimTime time, std::string_view text) {
    lines_.emplace_back(time, fmt::format("{}{}\n", indent_, text));
  }
  [[nodiscard]] std::string text() {
    sort_keeping_ties(lines_, [](const auto& line) { return line.first; });
    std::string all;
    for (const auto& [time, line] : lines_) all += line;
    return all;
  }

 private:
  std::string indent_ = std::string(16, ' ');
  std::vector<std::pair<SimTime, std::string>> lines_;
};

std::string cause_text(QueueCause cause) {
  switch (cause) {
    case QueueCause::seat:
      return "all seats were taken";
    case QueueCause::token_budget:
      return "the step's token budget was used up";
    case QueueCause::kv_memory:
      return "there was no KV memory for it";
  }
  return "";
}

// ", and the pool at 40 s was 99.5 % live, 0.5 % tail"
std::string pool_text(const PoolRow& row) {
  const auto total = static_cast<double>(row.bytes.total());
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kMemoryStates; ++i) {
    const std::int64_t bytes = row.bytes.slots[i];
    if (bytes > 0)
      parts.push_back(fmt::format("{} {}", share_text(static_cast<double>(bytes) / total), kMemoryStateNames[i]));
  }
  return fmt::format(", and the pool at {:.9g} s was {}", to_seconds(row.at), fmt::join(parts, ", "));
}

std::string holders_text(const Holders& h) {
  if (h.running == 0) return "nobody else was running";
  const auto roughly = [](bool at_least) { return at_least ? "at least" : "about"; };
  std::string text = fmt::format("{} running{}; the most: ", count_text(h.running), h.pool ? pool_text(*h.pool) : "");
  for (std::size_t i = 0; i < h.largest.size(); ++i) {
    const Holder& holder = h.largest[i];
    text += fmt::format("{}request {} {} {} (in since {:.6f} s)", i == 0 ? "" : ", ", holder.request,
                        roughly(holder.at_least), count_text(holder.tokens), to_seconds(holder.since));
  }
  return text;
}

std::string fate(const RequestRow& r) {
  if (r.outcome == "rejected") return fmt::format("rejected: {}", r.reason);
  if (r.outcome == "timed_out") return "its client left before the first token";
  if (r.outcome != "finished") return "unfinished when the run ended";
  return fmt::format("finished after {}, first token after {}", time_text(to_seconds(r.e2e.value_or(SimTime(0)))),
                     time_text(to_seconds(r.ttft.value_or(SimTime(0)))));
}

void tell_line(const Story& s, Timeline& timeline) {
  for (const LineWait& wait : s.line) {
    const bool head = wait.head == s.request;
    timeline.add(wait.from, fmt::format("waits {} {}{}", time_text(to_seconds(wait.lasted)),
                                        head ? "at the head of the line: "
                                             : fmt::format("behind request {}, kept out because ", wait.head),
                                        cause_text(wait.cause)));
  }
  if (s.line_changes > s.line.size()) {
    timeline.add_note(s.line.back().from,
                      fmt::format("(the {} longest of {} stretches)", s.line.size(), s.line_changes));
  }
  if (s.while_refused) timeline.add(s.while_refused->at, "memory was held by " + holders_text(*s.while_refused));
}

void tell_preemptions(const Story& s, Timeline& timeline) {
  for (std::size_t i = 0; i < s.preemptions.size(); ++i) {
    const Preemption& p = s.preemptions[i];
    std::string whom;
    if (p.beneficiary == s.request) {
      whom = " for want of memory for its own next tokens";
    } else if (p.beneficiary) {
      whom = fmt::format(" to make room for request {}", *p.beneficiary);
    }
    timeline.add(p.at, fmt::format("is preempted{}{}", p.swapped ? " (its KV goes to the host)" : "", whom));
    if (i < s.at_preemption.size()) timeline.add(p.at, "memory was held by " + holders_text(s.at_preemption[i]));
    if (p.resumed) {
      timeline.add(*p.resumed,
                   fmt::format("is back in the batch after {}, {}", time_text(to_seconds(*p.resumed - p.at)),
                               p.swapped ? "its KV comes back" : "and computes again what it lost"));
    }
    if (p.restored) timeline.add(*p.restored, "has regained its length");
  }
  for (const Victim& victim : s.victims) {
    timeline.add(victim.at, fmt::format("request {} is preempted to make room for it", victim.request));
  }
  if (s.victims_in_all > s.victims.size()) {
    timeline.add_note(s.victims.back().at,
                      fmt::format("(the first {} of {} that had to go for it)", s.victims.size(), s.victims_in_all));
  }
}

std::string buckets_text(const RequestRow& r) {
  const std::int64_t total = r.time.total();
  if (total == 0) return "";
  const Unit unit = time_unit(to_seconds(SimTime(total)));
  TextTable table;
  table.add({"  where its time went", unit.name, "share"});
  for (std::size_t i = 0; i < metrics::kTimeBuckets; ++i) {
    if (r.time.ns[i] == 0) continue;
    table.add({fmt::format("    {}", metrics::kTimeBucketNames[i]), in_unit(to_seconds(SimTime(r.time.ns[i])), unit),
               share_text(static_cast<double>(r.time.ns[i]) / static_cast<double>(total))});
  }
  const char* whole = r.e2e ? "    E2E" : r.outcome == "timed_out" ? "    until it left" : "    until it was dropped";
  table.add({whole, in_unit(to_seconds(SimTime(total)), unit), share_text(1)});
  return table.text();
}

ordered_json holders_json(const Holders& h) {
  ordered_json largest = ordered_json::array();
  for (const Holder& holder : h.largest) {
    largest.push_back({{"request", holder.request},
                       {"tokens_about", holder.tokens},
                       {"at_least", holder.at_least},
                       {"since_s", to_seconds(holder.since)}});
  }
  ordered_json pool;
  if (h.pool) {
    pool["t_s"] = to_seconds(h.pool->at);
    for (std::size_t i = 0; i < kMemoryStates; ++i)
      pool[std::string(kMemoryStateNames[i]) + "_bytes"] = h.pool->bytes.slots[i];
  }
  return {{"t_s", to_seconds(h.at)}, {"running", h.running}, {"pool", std::move(pool)}, {"largest", largest}};
}

ordered_json seconds_or_null(const std::optional<SimTime>& time) {
  return time ? ordered_json(to_seconds(*time)) : ordered_json(nullptr);
}

}  // namespace

std::string print_story(const Story& s) {
  const RequestRow& r = s.row;
  std::string text = wrapped(
      "",
      fmt::format("request {}: {} prompt tokens{}; {}{}", s.request, count_text(r.prompt_tokens),
                  r.output_tokens ? fmt::format(", {} output tokens", count_text(*r.output_tokens)) : "", fate(r),
                  r.preemptions == 0 ? ""
                                     : fmt::format("; {} preemption{}, stalled for {}", r.preemptions,
                                                   r.preemptions == 1 ? "" : "s", time_text(to_seconds(r.stall)))),
      kColumns, "  ");
  Timeline timeline;
  timeline.add(r.arrival, "arrives");
  const SimTime front_end(r.time[metrics::TimeBucket::front_end]);
  if (front_end > SimTime(0)) {
    timeline.add(r.arrival, fmt::format("takes {} to the engine", time_text(to_seconds(front_end))));
  }
  const SimTime boundary(r.time[metrics::TimeBucket::step_boundary]);
  if (boundary > SimTime(0)) {
    timeline.add(r.arrival + front_end,
                 fmt::format("waits {} for the step that runs to end", time_text(to_seconds(boundary))));
  }
  tell_line(s, timeline);
  if (r.admission) timeline.add(r.arrival + *r.admission, "is admitted");
  if (r.ttft) timeline.add(r.arrival + *r.ttft, "first token");
  tell_preemptions(s, timeline);
  if (r.e2e) timeline.add(r.arrival + *r.e2e, "last token");
  if (s.left) timeline.add(*s.left, r.outcome == "timed_out" ? "its client leaves" : "the engine drops it");
  return text + timeline.text() + buckets_text(r);
}

ordered_json story_json(const Story& s) {
  const RequestRow& r = s.row;
  ordered_json j;
  j["request"] = s.request;
  j["arrival_s"] = to_seconds(r.arrival);
  j["prompt_tokens"] = r.prompt_tokens;
  j["output_tokens"] = r.output_tokens ? ordered_json(*r.output_tokens) : ordered_json(nullptr);
  j["outcome"] = r.outcome;
  j["reason"] = r.reason.empty() ? ordered_json(nullptr) : ordered_json(r.reason);
  j["admission_s"] = seconds_or_null(r.admission);
  j["ttft_s"] = seconds_or_null(r.ttft);
  j["e2e_s"] = seconds_or_null(r.e2e);
  j["left_s"] = s.left ? ordered_json(to_seconds(*s.left - r.arrival)) : ordered_json(nullptr);
  j["stall_s"] = to_seconds(r.stall);
  j["recomputed_tokens"] = r.recomputed_tokens;
  ordered_json& line = j["line"] = ordered_json::array();
  for (const LineWait& wait : s.line) {
    line.push_back({{"t_s", to_seconds(wait.from)},
                    {"lasted_s", to_seconds(wait.lasted)},
                    {"head", wait.head},
                    {"cause", kQueueCauseNames[static_cast<std::size_t>(wait.cause)]}});
  }
  j["line_stretches"] = s.line_changes;
  j["memory_held_while_refused"] = s.while_refused ? holders_json(*s.while_refused) : ordered_json(nullptr);
  ordered_json& preemptions = j["preemptions"] = ordered_json::array();
  for (std::size_t i = 0; i < s.preemptions.size(); ++i) {
    const Preemption& p = s.preemptions[i];
    ordered_json one{{"t_s", to_seconds(p.at)},
                     {"mode", p.swapped ? "swap" : "recompute"},
                     {"for_request", p.beneficiary ? ordered_json(*p.beneficiary) : ordered_json(nullptr)},
                     {"resumed_s", seconds_or_null(p.resumed)},
                     {"restored_s", seconds_or_null(p.restored)}};
    one["memory_held"] = i < s.at_preemption.size() ? holders_json(s.at_preemption[i]) : ordered_json(nullptr);
    preemptions.push_back(std::move(one));
  }
  ordered_json& victims = j["preempted_for_it"] = ordered_json::array();
  for (const Victim& victim : s.victims) {
    victims.push_back(
        {{"t_s", to_seconds(victim.at)}, {"request", victim.request}, {"mode", victim.swapped ? "swap" : "recompute"}});
  }
  j["preempted_for_it_in_all"] = s.victims_in_all;
  ordered_json& time = j["time_ledger"] = ordered_json::object();
  for (std::size_t i = 0; i < metrics::kTimeBuckets; ++i) {
    time[std::string(metrics::kTimeBucketNames[i]) + "_s"] = to_seconds(SimTime(r.time.ns[i]));
  }
  return j;
}

}  // namespace blockyard::report
