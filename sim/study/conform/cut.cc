#include "sim/study/conform/cut.h"

#include <algorithm>

#include "sim/study/conform/workload_edit.h"

namespace blockyard::study {
namespace {

// The end that a record cut after its present lines must have.
Json end_of(const Record& record) {
  Json totals = record.end.json;
  for (const char* key : {"finished", "rejected", "aborted", "preemptions", "recompute_preemptions", "ignored",
                          "swap_outs", "swap_ins", "evictions", "hit_tokens", "sched_tokens"}) {
    if (totals.contains(key)) totals[key] = 0;
  }
  totals.erase("error");
  const auto add = [&](const char* key, std::int64_t n) {
    if (totals.contains(key)) totals[key] = totals[key].get<std::int64_t>() + n;
  };
  for (const RecordLine& line : record.steps) {
    const auto count = [&](const char* key) {
      return line.json.contains(key) ? static_cast<std::int64_t>(line.json[key].size()) : 0;
    };
    add("finished", count("fin"));
    add("rejected", count("rej"));
    add("aborted", count("abt"));
    add("preemptions", count("pre"));
    add("recompute_preemptions", count("pre"));
    add("ignored", count("ign"));
    add("swap_outs", count("so"));
    add("swap_ins", count("si"));
    add("evictions", line.json.value("e", std::int64_t{0}));
    for (const Json& entry : line.json["sch"]) {
      add("sched_tokens", entry.is_array() ? entry[1].get<std::int64_t>() : 1);
      if (entry.size() == 4) add("hit_tokens", entry[3].get<std::int64_t>());
    }
  }
  const Json& last = record.steps.back().json;
  const Json queues = last.value("q", Json::array());
  bool anyone_left = false;
  for (std::size_t i = queues.size() / 2; i < queues.size(); ++i) anyone_left |= queues[i] != 0;
  totals["stalled"] = anyone_left ? 1 : 0;
  totals["steps"] = record.steps.size();
  totals["last_step"] = last["s"].get<std::int64_t>() + 1;
  return totals;
}

// In how many of its steps each request was scheduled; -1 for those that are named otherwise but never scheduled.
std::vector<std::int64_t> steps_scheduled(const Record& record) {
  std::vector<std::int64_t> steps(record.requests.size(), 0);
  const auto of = [&](const Json& entry) -> std::int64_t& {
    return steps.at((entry.is_array() ? entry[0] : entry).get<std::size_t>());
  };
  for (const RecordLine& line : record.steps) {
    for (const Json& entry : line.json["sch"]) ++of(entry);
    for (const char* key : {"rej", "abt", "ign"}) {
      for (const Json& entry : line.json.value(key, Json::array())) {
        if (of(entry) == 0) of(entry) = -1;
      }
    }
  }
  return steps;
}

// How many requests, from the first, the engine may have felt by `step`.
std::size_t requests_felt(const Record& record, const std::vector<std::int64_t>& scheduled, std::int64_t step) {
  std::size_t felt = record.requests.size();
  while (felt > 1) {
    const bool arrived = record.requests[felt - 1].arrival_step <= step;
    if (arrived && (record.config.priority || scheduled[felt - 1] != 0)) break;
    --felt;
  }
  return felt;
}

// Keeps the first `kept` requests, and no more output tokens than they may have come to by `step`.
Record without_tail(const Record& record, std::size_t kept, const std::vector<std::int64_t>& scheduled,
                    std::int64_t step) {
  Json header = without_requests(record.header, kept, record.requests.size() - kept);
  for (std::size_t i = 0; i < kept; ++i) {
    // A step brings a request one token at most.
    const std::int64_t tokens = max_tokens_of(header["requests"][i]);
    if (scheduled[i] >= 0 && scheduled[i] + 1 < tokens) header = with_max_tokens(header, i, scheduled[i] + 1);
  }
  header["config"]["max_steps"] = step + 1;
  Record smaller = read_header(header, record.file);
  smaller.steps = record.steps;
  for (RecordLine& line : smaller.steps) {
    const auto s = line.json["s"].get<std::int64_t>();
    std::int64_t gone = 0;
    for (std::size_t i = kept; i < record.requests.size(); ++i) gone += record.requests[i].arrival_step <= s ? 1 : 0;
    if (gone == 0 || !line.json.contains("q")) continue;
    Json& queues = line.json["q"];
    for (const std::size_t waiting : {std::size_t{1}, queues.size() / 2 + 1}) {
      queues.at(waiting) = queues.at(waiting).get<std::int64_t>() - gone;
    }
  }
  smaller.end = record.end;
  smaller.end.json = end_of(smaller);
  return smaller;
}

bool differs_alike(const Record& record, const Difference& difference) {
  const std::optional<Difference> found = replay(record, StepPath::fast).difference;
  return found && found->step == difference.step && found->key == difference.key;
}

}  // namespace

Record cut_after_difference(const Record& record, const Difference& difference) {
  if (difference.line == record.end.number) return record;  // every line is true, and the sums are over all of them
  Record cut = record;
  std::erase_if(cut.steps,
                [&](const RecordLine& line) { return line.json["s"].get<std::int64_t>() > difference.step; });
  const std::vector<std::int64_t> scheduled = steps_scheduled(cut);
  const std::size_t needed = requests_felt(cut, scheduled, difference.step);
  // What we took into our step by mistake may be one of those that the engine did not feel: then more of them stay.
  for (std::size_t kept = needed; kept < record.requests.size(); ++kept) {
    const Record smaller = without_tail(cut, kept, scheduled, difference.step);
    if (differs_alike(smaller, difference)) return smaller;
  }
  return without_tail(cut, record.requests.size(), scheduled, difference.step);
}

}  // namespace blockyard::study
