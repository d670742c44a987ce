#include "sim/study/conform/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <utility>

#include "sim/sched/running_first.h"
#include "sim/sched/vllm_v0.h"
#include "sim/study/conform/recorder.h"

namespace blockyard::study {
namespace {

class RecordContents final : public kv::ContentSource {
 public:
  explicit RecordContents(const std::vector<RecordedRequest>& requests) : requests_(&requests) {}
  void content_of(RequestId request, Content& out) override { out = (*requests_)[index_of(request)].content; }

 private:
  const std::vector<RecordedRequest>* requests_;
};

// The engine of a record, ours, with the recorder that watches it.
struct Engine {
  std::unique_ptr<RecordContents> contents;
  std::unique_ptr<kv::PagedCached> memory_v1;
  std::unique_ptr<kv::V0Memory> memory_v0;
  std::unique_ptr<sched::Scheduler> scheduler;
  std::unique_ptr<Recorder> recorder;
};

Engine make_engine(const Record& record, StepPath path) {
  const RecordConfig& c = record.config;
  Engine e;
  e.contents = std::make_unique<RecordContents>(record.requests);
  if (record.engine == RecordedEngine::vllm_v1) {
    e.memory_v1 = std::make_unique<kv::PagedCached>(c.gpu_blocks, c.block_size, c.prefix_caching, e.contents.get());
    sched::RunningFirstOptions options;
    options.max_num_seqs = c.max_num_seqs;
    options.max_num_batched_tokens = c.max_num_batched_tokens;
    options.max_model_len = c.max_model_len;
    options.long_prefill_token_threshold = c.long_prefill_token_threshold;
    options.chunked_prefill = c.chunked_prefill;
    options.queue_order = c.priority ? "priority" : "fcfs";
    options.reserve_full_isl = c.reserve_full_isl;
    options.fast_forward = path != StepPath::general;
    e.scheduler = std::make_unique<sched::RunningFirst>(options, *e.memory_v1);
    e.recorder = std::make_unique<RecorderV1>(*e.scheduler, *e.memory_v1, c.prefix_caching);
    return e;
  }
  kv::V0MemoryOptions memory{c.gpu_blocks, c.host_blocks, c.block_size};
  if (c.prefix_caching) memory.contents = e.contents.get();
  e.memory_v0 = std::make_unique<kv::V0Memory>(memory);
  sched::VllmV0Options options;
  options.max_num_seqs = c.max_num_seqs;
  options.max_num_batched_tokens = c.max_num_batched_tokens;
  options.max_model_len = c.max_model_len;
  options.chunked_prefill = c.chunked_prefill;
  options.priority = c.priority;
  options.preemption = c.swap ? sched::V0Preemption::swap : sched::V0Preemption::recompute;
  e.scheduler = std::make_unique<sched::VllmV0>(options, *e.memory_v0);
  e.recorder = std::make_unique<RecorderV0>(*e.scheduler, *e.memory_v0, c.host_blocks > Blocks(0));
  return e;
}

// One run, driven step by step.
class Driver {
 public:
  Driver(const Record& record, StepPath path)
      : record_(&record), path_(path), engine_(make_engine(record, path)), by_arrival_(record.requests.size()) {
    std::iota(by_arrival_.begin(), by_arrival_.end(), std::size_t{0});
    std::sort(by_arrival_.begin(), by_arrival_.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(record.requests[a].arrival_step, a) < std::pair(record.requests[b].arrival_step, b);
    });
  }

  // The next step's line; null when the run is over.
  const Json* next() {
    const bool idle = engine_.scheduler->running() == 0 && engine_.scheduler->waiting() == 0;
    if (idle && arrived_ == by_arrival_.size()) return nullptr;
    if (idle) step_ = std::max(step_, record_->requests[by_arrival_[arrived_]].arrival_step);
    if (step_ >= limit_) {
      stalled_ = true;
      return nullptr;
    }
    abort_due();
    arrive_due();
    return take_step();
  }

  void stop_before(std::int64_t step) { limit_ = std::min(limit_, step); }
  void stop_here() { stop_before(step_); }
  [[nodiscard]] Json end() const { return engine_.recorder->end(stalled_); }
  [[nodiscard]] std::string state() const { return engine_.recorder->state(); }

 private:
  void abort_due() {
    for (const RecordedAbort& abort : record_->aborts) {
      const auto request = static_cast<RequestId>(abort.request);
      if (abort.step == step_ && engine_.scheduler->abort(request)) engine_.recorder->aborted(request);
    }
  }

  void arrive_due() {
    const RecordConfig& c = record_->config;
    // V0 lets a prompt of exactly max_model_len pass.
    const Tokens longest = record_->engine == RecordedEngine::vllm_v0 ? c.max_model_len : c.max_model_len - Tokens(1);
    for (; arrived_ < by_arrival_.size(); ++arrived_) {
      const RecordedRequest& r = record_->requests[by_arrival_[arrived_]];
      if (r.arrival_step > step_) break;
      const auto request = static_cast<RequestId>(by_arrival_[arrived_]);
      if (c.frontend_check && r.request.prompt_tokens > longest) {
        engine_.recorder->rejected(request);
      } else {
        engine_.scheduler->arrive(request, r.request);
      }
    }
  }

  const Json* take_step() {
    const std::int64_t step = step_++;
    sched::Batch plain;
    if (path_ == StepPath::fast && engine_.scheduler->plain_step(plain)) {
      return &engine_.recorder->took_plain_step(step);
    }
    const sched::Batch& batch = engine_.scheduler->schedule(time_of(step));
    if (!batch.failure.empty()) {
      engine_.recorder->died(step, batch.failure);
      return nullptr;
    }
    engine_.recorder->scheduled(step, batch);
    return &engine_.recorder->completed(engine_.scheduler->complete(time_of(step + 1)));
  }

  [[nodiscard]] static SimTime time_of(std::int64_t step) { return SimTime(step * 1'000'000); }

  const Record* record_;
  StepPath path_;
  Engine engine_;
  std::vector<std::size_t> by_arrival_;
  std::size_t arrived_ = 0;
  std::int64_t step_ = 0;
  std::int64_t limit_ = record_->config.max_steps.value_or(INT64_MAX);
  bool stalled_ = false;
};

// Decisions first: a difference in them explains one in the state.
constexpr std::array kStepKeys{"s",   "sch", "np", "pre", "so", "si", "ign", "rej", "abt",
                               "fin", "q",   "f",  "c",   "h",  "e",  "sx",  "fq",  "bt"};
// Written in every line, or in none.
constexpr std::array kOptionalKeys{"q", "f", "c", "h", "fq", "bt"};

bool in(const auto& list, std::string_view key) { return std::find(list.begin(), list.end(), key) != list.end(); }

std::string value_of(const Json& line, const std::string& key) {
  const auto found = line.find(key);
  return found == line.end() ? "nothing" : found->dump();
}

// What of `ours` differs from the record's line; "" if nothing.
std::string differing_key(const Json& recorded, const Json& ours, const Json& first_recorded) {
  for (const char* key : kStepKeys) {
    if (in(kOptionalKeys, key) && !first_recorded.contains(key)) continue;
    const auto a = recorded.find(key);
    const auto b = ours.find(key);
    if ((a == recorded.end()) != (b == ours.end()) || (a != recorded.end() && *a != *b)) return key;
  }
  for (const auto& item : recorded.items()) {
    if (!in(kStepKeys, item.key())) return item.key();
  }
  return "";
}

std::string differing_total(const Json& recorded, const Json& ours) {
  for (const auto& item : recorded.items()) {
    const auto found = ours.find(item.key());
    if (found == ours.end() || *found != item.value()) return item.key();
  }
  return ours.contains("error") && !recorded.contains("error") ? "error" : "";
}

std::string last_lines(const Record& record, std::size_t step) {
  constexpr std::size_t kShown = 3;
  std::string text;
  for (std::size_t i = step - std::min(step, kShown); i < step; ++i) {
    text += fmt::format("  before:   {}\n", record.steps[i].json.dump());
  }
  return text;
}

}  // namespace

ReplayResult replay(const Record& record, StepPath path) {
  Driver driver(record, path);
  ReplayResult result;
  for (std::size_t at = 0;; ++at) {
    const std::string state = driver.state();
    const bool recorded_ends = at == record.steps.size();
    if (recorded_ends && record.end.json.value("stalled", 0) != 0) driver.stop_here();  // so did the recorded run
    const Json* ours = driver.next();
    const RecordLine& recorded = recorded_ends ? record.end : record.steps[at];
    const auto differ = [&](std::string key, std::string expected, std::string got, const Json& line) {
      const std::int64_t step = recorded_ends ? (at == 0 ? 0 : record.steps[at - 1].json["s"].get<std::int64_t>() + 1)
                                              : recorded.json["s"].get<std::int64_t>();
      result.difference = {step,
                           recorded.number,
                           std::move(key),
                           std::move(expected),
                           std::move(got),
                           fmt::format("{}  expected: {}\n  got:      {}\n  {}, before the step\n",
                                       last_lines(record, at), recorded.json.dump(), line.dump(), state)};
    };
    if (ours == nullptr) {
      const Json end = driver.end();
      if (!recorded_ends) {
        differ("end", "a step", "the end", end);
      } else if (const std::string key = differing_total(recorded.json, end); !key.empty()) {
        differ(key, value_of(recorded.json, key), value_of(end, key), end);
      }
      return result;
    }
    if (recorded_ends) {
      differ("end", "the end", "a step", *ours);
      return result;
    }
    const std::string key = differing_key(recorded.json, *ours, record.steps.front().json);
    if (!key.empty()) {
      differ(key, value_of(recorded.json, key), value_of(*ours, key), *ours);
      return result;
    }
    ++result.steps;
  }
}

Record run_header(const Record& header, StepPath path, std::int64_t step_limit) {
  Record own = header;
  own.steps.clear();
  Driver driver(own, path);
  driver.stop_before(step_limit);
  int number = 1;
  while (const Json* line = driver.next()) own.steps.push_back({++number, *line});
  own.end = {++number, driver.end()};
  return own;
}

std::string to_text(const Difference& d, const std::string& file) {
  return fmt::format("DIFF {} step {}: {}: expected {}, got {}\n{}", file, d.step, d.key, d.expected, d.got, d.state);
}

}  // namespace blockyard::study
