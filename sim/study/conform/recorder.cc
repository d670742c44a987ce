#include "sim/study/conform/recorder.h"

#include <fmt/format.h>
#include <zlib.h>

#include "sim/base/check.h"

namespace blockyard::study {
namespace {

Json requests_of(const std::vector<RequestId>& requests) {
  Json list = Json::array();
  for (const RequestId request : requests) list.push_back(index_of(request));
  return list;
}

Json requests_of(const std::vector<sched::Preempted>& preempted) {
  Json list = Json::array();
  for (const sched::Preempted& one : preempted) list.push_back(index_of(one.request));
  return list;
}

void add_unless_empty(Json& line, const char* key, Json list) {
  if (!list.empty()) line[key] = std::move(list);
}

}  // namespace

std::uint32_t crc_of(const std::vector<std::uint32_t>& numbers) {
  uLong crc = crc32(0, nullptr, 0);
  for (const std::uint32_t n : numbers) {
    const Bytef bytes[4] = {static_cast<Bytef>(n), static_cast<Bytef>(n >> 8), static_cast<Bytef>(n >> 16),
                            static_cast<Bytef>(n >> 24)};
    crc = crc32(crc, bytes, 4);
  }
  return static_cast<std::uint32_t>(crc);
}

void Recorder::rejected(RequestId request) {
  rejected_now_.push_back(index_of(request));
  ++totals_.rejected;
}

void Recorder::aborted(RequestId request) {
  aborted_now_.push_back(index_of(request));
  ++totals_.aborted;
}

void Recorder::begin_line(std::int64_t step) {
  line_ = Json::object();
  line_["s"] = step;
  next_step_ = step + 1;
  ++lines_;
}

std::uint32_t Recorder::tables_crc() {
  scheduler_->running_list(running_, sequences_);
  numbers_.clear();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const std::vector<std::uint32_t>& table = block_table(sequences_[i]);
    numbers_.push_back(static_cast<std::uint32_t>(index_of(running_[i])));
    numbers_.push_back(static_cast<std::uint32_t>(table.size()));
    numbers_.insert(numbers_.end(), table.begin(), table.end());
  }
  return crc_of(numbers_);
}

// Queues, free blocks and the free list come in pairs: after schedule(), after complete().
void Recorder::add_state(bool step_is_over) {
  for (const std::int64_t n : queues()) line_["q"].push_back(n);
  line_["f"].push_back(free_blocks());
  add_memory(line_, step_is_over);
  numbers_.clear();
  free_list(numbers_);
  line_["fq"].push_back(crc_of(numbers_));
}

void Recorder::scheduled(std::int64_t step, const sched::Batch& batch) {
  begin_line(step);
  scheduler_->describe_plan(plan_);
  line_["sch"] = Json::array();
  std::int64_t prefills = 0;
  for (const sched::PlanEntry& entry : plan_) {
    line_["sch"].push_back(plan_entry(entry));
    prefills += entry.prefill ? 1 : 0;
    totals_.scheduled_tokens += tokens_of(entry);
    totals_.hit_tokens += entry.hit.count();
  }
  if (prefills > 0) line_["np"] = prefills;
  add_unless_empty(line_, "pre", requests_of(batch.preempted));
  totals_.preempted += static_cast<std::int64_t>(batch.preempted.size());
  add_swaps(line_, batch);
  add_state(false);
  line_["bt"] = tables_crc();
}

const Json& Recorder::completed(const sched::StepOutcome& outcome) {
  Json finished = Json::array();
  for (const sched::Finish& f : outcome.finished) {
    finished.push_back(Json::array({index_of(f.request), f.generated.count()}));
  }
  totals_.finished += static_cast<std::int64_t>(outcome.finished.size());
  add_unless_empty(line_, "fin", std::move(finished));
  add_unless_empty(line_, "rej", std::move(rejected_now_));
  add_unless_empty(line_, "abt", std::move(aborted_now_));
  rejected_now_ = Json::array();
  aborted_now_ = Json::array();
  add_state(true);
  return line_;
}

const Json& Recorder::took_plain_step(std::int64_t step) {
  begin_line(step);
  line_["bt"] = tables_crc();
  line_["sch"] = requests_of(running_);
  totals_.scheduled_tokens += static_cast<std::int64_t>(running_.size());
  add_state(false);
  return completed({});
}

void Recorder::died(std::int64_t step, std::string_view why) {
  next_step_ = step;
  error_ = why;
}

Json Recorder::end(bool stalled) const {
  Json end = Json::object();
  end["end"] = 1;
  end["stalled"] = stalled ? 1 : 0;
  end["steps"] = lines_;
  end["last_step"] = next_step_;
  end["finished"] = totals_.finished;
  end["rejected"] = totals_.rejected;
  add_totals(end);
  end["sched_tokens"] = totals_.scheduled_tokens;
  if (!error_.empty()) end["error"] = error_;
  return end;
}

std::string Recorder::state() const {
  std::vector<RequestId> running;
  std::vector<SequenceId> sequences;
  scheduler_->running_list(running, sequences);
  std::string text = "running:";
  for (std::size_t i = 0; i < running.size(); ++i) {
    text += fmt::format(" {} ({} blocks)", index_of(running[i]), block_table(sequences[i]).size());
  }
  return text + fmt::format("; {} waiting, {} of them swapped out; {} blocks free", scheduler_->waiting(),
                            scheduler_->swapped(), free_blocks());
}

Json RecorderV1::plan_entry(const sched::PlanEntry& entry) {
  const std::size_t i = index_of(entry.request);
  if (entry.kind != sched::PlanEntry::Kind::running) {
    const int kind = entry.kind == sched::PlanEntry::Kind::admitted ? 1 : 2;
    return Json::array({i, entry.fresh.count(), kind, entry.hit.count()});
  }
  return entry.fresh == Tokens(1) ? Json(i) : Json::array({i, entry.fresh.count()});
}

void RecorderV1::add_memory(Json& line, bool step_is_over) {
  if (!step_is_over || !prefix_caching_) return;
  line["h"] = memory_->registered_hashes();
  const std::int64_t evicted = memory_->evictions() - evictions_before_;
  evictions_before_ = memory_->evictions();
  if (evicted > 0) line["e"] = evicted;
}

void RecorderV1::add_totals(Json& end) const {
  end["aborted"] = totals().aborted;
  end["preemptions"] = totals().preempted;
  end["evictions"] = memory_->evictions();
  end["hit_tokens"] = totals().hit_tokens;
}

std::vector<std::int64_t> RecorderV1::queues() const { return {scheduler().running(), scheduler().waiting()}; }

Json RecorderV0::plan_entry(const sched::PlanEntry& entry) {
  const std::size_t i = index_of(entry.request);
  if (!entry.prefill) return i;
  const std::int64_t tokens = tokens_of(entry);
  return memory_->prefix_caching() ? Json::array({i, tokens, entry.memorised.count()}) : Json::array({i, tokens});
}

void RecorderV0::add_swaps(Json& line, const sched::Batch& batch) {
  const auto swaps_of = [](const std::vector<sched::Swap>& swaps) {
    Json list = Json::array();
    for (const sched::Swap& swap : swaps) list.push_back(Json::array({index_of(swap.request), swap.blocks.count()}));
    return list;
  };
  add_unless_empty(line, "so", swaps_of(batch.swapped_out));
  add_unless_empty(line, "si", swaps_of(batch.swapped_in));
  if (!memory_->moves().empty()) {
    std::vector<std::uint32_t> ids;
    ids.reserve(2 * memory_->moves().size());
    for (const auto& [source, destination] : memory_->moves()) {
      ids.push_back(source);
      ids.push_back(destination);
    }
    line["sx"] = crc_of(ids);
  }
  std::vector<RequestId> ignored;
  ignored.reserve(batch.ignored.size());
  for (const sched::Finish& f : batch.ignored) ignored.push_back(f.request);
  add_unless_empty(line, "ign", requests_of(ignored));
  ignored_ += static_cast<std::int64_t>(ignored.size());
  swap_outs_ += static_cast<std::int64_t>(batch.swapped_out.size());
  swap_ins_ += static_cast<std::int64_t>(batch.swapped_in.size());
}

void RecorderV0::add_memory(Json& line, bool /*step_is_over*/) {
  if (host_pool_) line["c"].push_back(memory_->host_available());
}

void RecorderV0::add_totals(Json& end) const {
  end["ignored"] = ignored_;
  end["recompute_preemptions"] = totals().preempted;
  end["swap_outs"] = swap_outs_;
  end["swap_ins"] = swap_ins_;
}

std::vector<std::int64_t> RecorderV0::queues() const {
  return {scheduler().running(), scheduler().waiting() - scheduler().swapped(), scheduler().swapped()};
}

}  // namespace blockyard::study
