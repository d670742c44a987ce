#include "sim/report/replicas.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/report/figures.h"
#include "sim/report/groups_json.h"
#include "sim/report/text_table.h"

namespace blockyard::report {
namespace {

constexpr std::size_t kColumns = 100;
constexpr const char* kDefinition =
    "requests: let in to the replica over the whole run, with their prompt tokens; output: tokens that it generated; "
    "running: mean of its "
    "batch; waiting: mean of its queue; KV use: mean share of its pool that requests hold; preempted: preemptions; "
    "busy: share of the time with a "
    "step of its own under way";
constexpr const char* kHits = "; hits: share of the tokens looked up in its prefix cache that were there";
constexpr const char* kLockstep =
    "; idle steps: share with a step that it takes for the others alone, having nobody to serve";

}  // namespace

std::string replicas_text(const metrics::Summary& s) {
  if (s.replicas.empty()) return "";
  const bool cache = std::ranges::any_of(s.replicas, [](const auto& r) { return r.looked_up_tokens > 0; });
  const bool lockstep = std::ranges::any_of(s.replicas, [](const auto& r) { return r.idle_steps_s > 0; });
  TextTable table(1);
  std::vector<std::string> head{"replica", "requests", "prompt tokens", "output", "running", "waiting", "KV use"};
  if (cache) head.emplace_back("hits");
  head.insert(head.end(), {"preempted", "busy"});
  if (lockstep) head.emplace_back("idle steps");
  table.add(std::move(head));
  for (std::size_t i = 0; i < s.replicas.size(); ++i) {
    const metrics::ReplicaFigures& r = s.replicas[i];
    std::vector<std::string> row{fmt::format("  {}", i),      count_text(r.requests),      count_text(r.prompt_tokens),
                                 count_text(r.output_tokens), significant(r.mean_running), significant(r.mean_waiting),
                                 share_text(r.kv_use)};
    if (cache) row.push_back(share_text(r.hit_ratio().value_or(0)));
    row.insert(row.end(), {count_text(r.preemptions), share_text(r.busy_share())});
    if (lockstep) row.push_back(share_text(r.idle_steps_share()));
    table.add(std::move(row));
  }
  const std::string definition =
      fmt::format("{}{}{}. Memory, above, is of all; its largest free region is one replica's.", kDefinition,
                  cache ? kHits : "", lockstep ? kLockstep : "");
  return table.text() + wrapped("  ", definition, kColumns, "  ") + "\n";
}

nlohmann::ordered_json replicas_json(const metrics::Summary& s) {
  nlohmann::ordered_json rows = nlohmann::ordered_json::array();
  for (const metrics::ReplicaFigures& r : s.replicas) {
    rows.push_back({{"requests", r.requests},
                    {"finished", r.finished},
                    {"prompt_tokens", r.prompt_tokens},
                    {"output_tokens", r.output_tokens},
                    {"computed_tokens", r.computed_tokens},
                    {"steps", r.steps},
                    {"mean_running", r.mean_running},
                    {"max_running", r.max_running},
                    {"mean_waiting", r.mean_waiting},
                    {"kv_use_mean_share", r.kv_use},
                    {"prefix_looked_up_tokens", r.looked_up_tokens},
                    {"prefix_hit_tokens", r.hit_tokens},
                    {"prefix_hit_ratio", number_or_null(r.hit_ratio())},
                    {"preemptions", r.preemptions},
                    {"time", {{"busy_s", r.busy_s}, {"idle_steps_s", r.idle_steps_s}, {"idle_s", r.idle_s}}},
                    {"busy_share", r.busy_share()}});
  }
  return rows;
}

}  // namespace blockyard::report
