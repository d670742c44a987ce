#include "sim/study/conform/shrink.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "sim/base/diagnostics.h"

namespace blockyard::study {
namespace {

// Fields of a request in a header.
constexpr std::size_t kArrivalStep = 1;
constexpr std::size_t kMaxTokens = 4;
constexpr std::size_t kRuns = 6;

Json without_requests(const Json& header, std::size_t first, std::size_t count) {
  Json smaller = header;
  Json& requests = smaller["requests"];
  const auto begin = requests.begin() + static_cast<std::ptrdiff_t>(first);
  requests.erase(begin, begin + static_cast<std::ptrdiff_t>(count));
  if (!header.contains("aborts")) return smaller;
  smaller["aborts"] = Json::array();
  for (const Json& abort : header["aborts"]) {
    const auto request = abort[1].get<std::size_t>();
    if (request < first) smaller["aborts"].push_back(abort);
    if (request >= first + count) smaller["aborts"].push_back(Json::array({abort[0], request - count}));
  }
  if (smaller["aborts"].empty()) smaller.erase("aborts");
  return smaller;
}

Json without_abort(const Json& header, std::size_t index) {
  Json smaller = header;
  smaller["aborts"].erase(index);
  if (smaller["aborts"].empty()) smaller.erase("aborts");
  return smaller;
}

std::int64_t prompt_of(const Json& request) {
  std::int64_t tokens = 0;
  for (const Json& run : request[kRuns]) tokens += run[1].get<std::int64_t>();
  return tokens;
}

Json with_prompt(const Json& header, std::size_t index, std::int64_t tokens) {
  Json smaller = header;
  Json& runs = smaller["requests"][index][kRuns];
  Json kept = Json::array();
  for (const Json& run : runs) {
    const std::int64_t taken = std::min(tokens, run[1].get<std::int64_t>());
    if (taken > 0) kept.push_back(Json::array({run[0], taken}));
    tokens -= taken;
  }
  runs = std::move(kept);
  return smaller;
}

class Shrinker {
 public:
  Shrinker(const Record& record, const Reference& reference)
      : file_(record.file), reference_(&reference), header_(record.header) {}

  std::optional<Shrunk> run() {
    if (!accept(header_)) return std::nullopt;
    for (bool smaller = true; smaller;) {
      smaller = drop_requests();
      smaller = drop_aborts() || smaller;
      smaller = drop_tokens() || smaller;
    }
    return Shrunk{std::move(best_), tries_};
  }

 private:
  bool accept(const Json& header) {
    ++tries_;
    std::optional<Record> run = (*reference_)(read_header(header, file_));
    if (!run || !replay(*run, StepPath::fast).difference) return false;
    header_ = header;
    best_ = std::move(*run);
    return true;
  }

  [[nodiscard]] std::size_t requests() const { return header_["requests"].size(); }

  bool drop_requests() {
    bool smaller = false;
    for (std::size_t count = (requests() + 1) / 2; count > 0; count /= 2) {
      // From the back: what arrives last is needed least.
      for (std::size_t end = requests(); end >= count && requests() > count;) {
        if (accept(without_requests(header_, end - count, count))) smaller = true;
        end -= count;
      }
    }
    return smaller;
  }

  bool drop_aborts() {
    bool smaller = false;
    for (std::size_t i = header_.contains("aborts") ? header_["aborts"].size() : 0; i-- > 0;) {
      if (accept(without_abort(header_, i))) smaller = true;
    }
    return smaller;
  }

  bool drop_tokens() {
    bool smaller = false;
    for (std::size_t i = 0; i < requests(); ++i) {
      const auto prompt = [&](std::int64_t tokens) { return with_prompt(header_, i, tokens); };
      const auto output = [&](std::int64_t tokens) {
        Json fewer = header_;
        fewer["requests"][i][kMaxTokens] = tokens;
        return fewer;
      };
      smaller = lower(prompt_of(header_["requests"][i]), prompt) || smaller;
      smaller = lower(header_["requests"][i][kMaxTokens].get<std::int64_t>(), output) || smaller;
    }
    return smaller;
  }

  // Lowers a number by ever smaller pieces, down to one.
  template <class With>
  bool lower(std::int64_t number, const With& with) {
    bool smaller = false;
    for (std::int64_t piece = number / 2; piece > 0; piece /= 2) {
      while (number - piece >= 1 && accept(with(number - piece))) {
        number -= piece;
        smaller = true;
      }
    }
    return smaller;
  }

  std::string file_;
  const Reference* reference_;
  Json header_;
  Record best_;
  std::int64_t tries_ = 0;
};

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

}  // namespace

Reference reference_general_path(std::int64_t step_limit) {
  return [step_limit](const Record& header) { return run_header(header, StepPath::general, step_limit); };
}

Reference reference_program(std::string command, std::string scratch_file) {
  return [command = std::move(command),
          scratch_file = std::move(scratch_file)](const Record& header) -> std::optional<Record> {
    const std::string answer = scratch_file + ".run";
    std::ofstream(scratch_file) << header.header.dump() << '\n';
    const std::string line = command + " '" + scratch_file + "' > '" + answer + "'";
    std::optional<Record> run;
    if (std::system(line.c_str()) == 0) {
      try {
        run = read_record(answer);
      } catch (const InputError&) {
        // No run that can be read: the workload is of no use.
      }
    }
    std::remove(scratch_file.c_str());
    std::remove(answer.c_str());
    return run;
  };
}

std::optional<Shrunk> shrink(const Record& record, const Reference& reference) {
  return Shrinker(record, reference).run();
}

Record cut_after_difference(const Record& record, const Difference& difference) {
  if (difference.line == record.end.number) return record;  // every line is true, and the sums are over all of them
  Json header = record.header;
  for (std::size_t i = record.requests.size(); i-- > 0;) {
    if (record.requests[i].arrival_step <= difference.step) break;
    header = without_requests(header, i, 1);
  }
  header["config"]["max_steps"] = difference.step + 1;
  Record cut = read_header(header, record.file);
  for (const RecordLine& line : record.steps) {
    if (line.json["s"].get<std::int64_t>() <= difference.step) cut.steps.push_back(line);
  }
  cut.end = record.end;
  cut.end.json = end_of(cut);
  return cut;
}

}  // namespace blockyard::study
