#include "sim/report/story.h"

#include <algorithm>
#include <map>

#include "sim/base/stable_order.h"

namespace blockyard::report {
namespace {

using metrics::Event;
using metrics::EventKind;

constexpr std::size_t kLongestWaits = 5;
constexpr std::size_t kLargestHolders = 5;
constexpr std::size_t kPreemptionsWithHolders = 3;
constexpr std::size_t kFirstVictims = 5;

std::size_t index_of(metrics::RecordId id) { return static_cast<std::size_t>(id); }

std::int64_t tokens_at(const RequestRow& r, SimTime now) {
  if (!r.ttft || now <= r.arrival + *r.ttft) return r.prompt_tokens;
  if (!r.e2e || !r.output_tokens) return r.prompt_tokens;
  const double decoding = static_cast<double>((*r.e2e - *r.ttft).count());
  const double share = static_cast<double>((now - r.arrival - *r.ttft).count()) / std::max(1.0, decoding);
  return r.prompt_tokens + static_cast<std::int64_t>(static_cast<double>(*r.output_tokens - 1) * std::min(1.0, share));
}

// Who held the memory at `at`, wanted by a story: the batch just before what happens then, without the request itself.
struct Question {
  SimTime at;
  std::size_t except = 0;
  Holders* answer = nullptr;
};

bool ends(EventKind kind) {
  return kind == EventKind::finished || kind == EventKind::abandoned || kind == EventKind::ignored;
}

class Batch {
 public:
  void happens(const Event& e) {
    switch (e.kind) {
      case EventKind::admitted:
      case EventKind::resumed:
      case EventKind::swapped_in:
        since_[index_of(e.request)] = e.time;
        break;
      case EventKind::preempted:
      case EventKind::swapped_out:
      case EventKind::finished:
      case EventKind::abandoned:
      case EventKind::ignored:
        since_.erase(index_of(e.request));
        break;
      case EventKind::head:
      case EventKind::restored:
        break;
    }
  }
  [[nodiscard]] Holders holders(const RunFiles& files, SimTime now, const std::vector<std::size_t>& without) const {
    Holders h;
    h.at = now;
    for (const auto& [request, since] : since_) {
      if (std::find(without.begin(), without.end(), request) != without.end()) continue;
      h.largest.push_back({request, tokens_at(files.requests[request], now), since});
      h.tokens += h.largest.back().tokens;
    }
    h.running = static_cast<std::int64_t>(h.largest.size());
    sort_keeping_ties(h.largest, [](const Holder& holder) { return -holder.tokens; });
    if (h.largest.size() > kLargestHolders) h.largest.resize(kLargestHolders);
    return h;
  }

 private:
  std::map<std::size_t, SimTime> since_;  // by request, in the batch since
};

// All in one pass over the events. Those that end at the very instant hold nothing any more.
void answer(const RunFiles& files, std::vector<Question>& questions) {
  sort_keeping_ties(questions, [](const Question& question) { return question.at; });
  Batch batch;
  auto event = files.events.begin();
  for (const Question& question : questions) {
    for (; event != files.events.end() && event->time < question.at; ++event) batch.happens(*event);
    std::vector<std::size_t> without{question.except};
    for (auto now = event; now != files.events.end() && now->time == question.at; ++now) {
      if (ends(now->kind)) without.push_back(index_of(now->request));
    }
    *question.answer = batch.holders(files, question.at, without);
  }
}

// The heads of the line between the arrival and the first admission (or `left`, without one).
std::vector<LineWait> line_waits(const std::vector<const Event*>& heads, const RequestRow& r, SimTime left) {
  const SimTime from = r.arrival + SimTime(r.time[metrics::TimeBucket::front_end]);
  const SimTime until = r.admission ? r.arrival + *r.admission : left;
  std::vector<LineWait> waits;
  auto head = std::upper_bound(heads.begin(), heads.end(), from,
                               [](SimTime time, const Event* event) { return time < event->time; });
  if (head != heads.begin()) --head;  // it was there already
  for (; head != heads.end() && (*head)->time < until; ++head) {
    if ((*head)->request == Event::nobody()) continue;
    const SimTime begins = std::max((*head)->time, from);
    const SimTime over = head + 1 == heads.end() ? until : std::min(head[1]->time, until);
    if (over > begins) waits.push_back({index_of((*head)->request), (*head)->cause, begins, over - begins});
  }
  return waits;
}

// What happened to a request after its admission; when it left, kNever if it has not.
SimTime follow(const Event& e, std::vector<Preemption>& list) {
  if (e.kind == EventKind::preempted || e.kind == EventKind::swapped_out) {
    Preemption p;
    p.at = e.time;
    p.swapped = e.kind == EventKind::swapped_out;
    if (e.other != Event::nobody()) p.beneficiary = index_of(e.other);
    list.push_back(p);
  } else if (!list.empty() && (e.kind == EventKind::resumed || e.kind == EventKind::swapped_in)) {
    list.back().resumed = e.time;
  } else if (!list.empty() && e.kind == EventKind::restored) {
    list.back().restored = e.time;
  }
  return ends(e.kind) ? e.time : kNever;
}

void add_victim(Story& story, const Event& e) {
  if (story.victims_in_all++ >= kFirstVictims) return;
  story.victims.push_back({e.time, index_of(e.request), e.kind == EventKind::swapped_out});
}

// Keeps the longest, in the order of time. The first of the longest that memory caused is told apart.
void choose_waits(Story& story, std::vector<LineWait> waits, std::vector<Question>& questions) {
  story.line_changes = waits.size();
  const auto shorter = [](const LineWait& a, const LineWait& b) { return a.lasted < b.lasted; };
  const LineWait* longest_for_memory = nullptr;
  for (const LineWait& wait : waits) {
    if (wait.cause != QueueCause::kv_memory) continue;
    if (longest_for_memory == nullptr || shorter(*longest_for_memory, wait)) longest_for_memory = &wait;
  }
  if (longest_for_memory != nullptr) {
    const SimTime at = longest_for_memory->from + SimTime(1);
    questions.push_back({at, story.request, &story.while_refused.emplace()});
  }
  if (waits.size() > kLongestWaits) {
    sort_keeping_ties(waits, [](const LineWait& wait) { return -wait.lasted.count(); });
    waits.resize(kLongestWaits);
    std::sort(waits.begin(), waits.end(), [](const LineWait& a, const LineWait& b) { return a.from < b.from; });
  }
  story.line = std::move(waits);
}

}  // namespace

std::vector<Story> stories_of(const RunFiles& files, const std::vector<std::size_t>& requests) {
  std::vector<Story> stories(requests.size());
  std::map<std::size_t, std::size_t> story_of_request;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    stories[i].request = requests[i];
    stories[i].row = files.requests[requests[i]];
    story_of_request.emplace(requests[i], i);
  }
  // Who neither was admitted nor left waits to the end of the run.
  std::vector<SimTime> left(requests.size(), files.events.empty() ? SimTime(0) : files.events.back().time);
  std::vector<const Event*> heads;
  for (const Event& e : files.events) {
    if (e.kind == EventKind::head) {
      heads.push_back(&e);
      continue;
    }
    if (const auto story = story_of_request.find(index_of(e.request)); story != story_of_request.end()) {
      left[story->second] = std::min(left[story->second], follow(e, stories[story->second].preemptions));
    }
    if (e.other == Event::nobody() || e.other == e.request) continue;
    if (const auto story = story_of_request.find(index_of(e.other)); story != story_of_request.end()) {
      add_victim(stories[story->second], e);
    }
  }
  std::vector<Question> questions;
  for (std::size_t i = 0; i < stories.size(); ++i) {
    Story& story = stories[i];
    choose_waits(story, line_waits(heads, story.row, left[i]), questions);
    story.at_preemption.resize(std::min(kPreemptionsWithHolders, story.preemptions.size()));
    for (std::size_t p = 0; p < story.at_preemption.size(); ++p) {
      questions.push_back({story.preemptions[p].at, story.request, &story.at_preemption[p]});
    }
  }
  answer(files, questions);
  return stories;
}

std::vector<std::size_t> worst(const RunFiles& files, std::size_t count, WorstBy by) {
  const auto figure = [&](const RequestRow& r) {
    switch (by) {
      case WorstBy::ttft:
        return r.ttft.value_or(SimTime(0));
      case WorstBy::stall:
        return r.stall;
      case WorstBy::e2e:
        return r.e2e.value_or(SimTime(0));
    }
    return SimTime(0);
  };
  std::vector<std::size_t> ids;
  for (std::size_t i = 0; i < files.requests.size(); ++i) {
    if (figure(files.requests[i]) > SimTime(0)) ids.push_back(i);
  }
  sort_keeping_ties(ids, [&](std::size_t id) { return -figure(files.requests[id]).count(); });
  if (ids.size() > count) ids.resize(count);
  return ids;
}

}  // namespace blockyard::report
