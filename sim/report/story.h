// One request's story, made of a run's files: what it waited for and behind whom, who held the memory meanwhile, for
// whom it was preempted, and where its time went. Times are exact, as in the files. So is what the pool held, as of the
// last row of the time series. What each of the others held is not in the files: their tokens are taken from their
// lengths ("about"). One that has no first token yet counts with its whole prompt; one that decodes, in a straight line
// from its first token to its last, which runs through its stalls too, and while it computes again what it lost, as if
// it held all of it, so that they do not add up to the pool; one that decodes and never finished, with its prompt
// alone: its outputs are unknown ("at least").
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/report/run_files.h"

namespace blockyard::report {

// Somebody in the batch at an instant.
struct Holder {
  std::size_t request = 0;
  std::int64_t tokens = 0;  // about
  SimTime since;            // its latest admission
  bool at_least = false;    // it has outputs besides, how many is unknown
};

// Who held the memory at an instant.
struct Holders {
  SimTime at;
  std::int64_t running = 0;
  std::vector<Holder> largest;  // at most five
  std::optional<PoolRow> pool;  // by then
};

// A stretch of the waiting line in front of a request, or with it at the head.
struct LineWait {
  std::size_t head = 0;
  QueueCause cause = QueueCause::seat;
  SimTime from;
  SimTime lasted;
};

struct Preemption {
  SimTime at;
  bool swapped = false;
  std::optional<std::size_t> beneficiary;
  std::optional<SimTime> resumed;
  std::optional<SimTime> restored;
};

// Somebody who had to go for the story's request.
struct Victim {
  SimTime at;
  std::size_t request = 0;
  bool swapped = false;
};

struct Story {
  std::size_t request = 0;
  RequestRow row;
  std::vector<LineWait> line;            // the longest, at most five, in the order of time
  std::size_t line_changes = 0;          // stretches there were
  std::optional<Holders> while_refused;  // as the longest wait for memory began
  std::vector<Preemption> preemptions;
  std::vector<Holders> at_preemption;  // one each of the first three
  std::vector<Victim> victims;         // the first five
  std::size_t victims_in_all = 0;
  std::optional<SimTime> left;  // its client left, or the engine dropped it
};

enum class WorstBy { ttft, stall, e2e };

// Of these requests, each named once. O(events), and for each the heads of the line while it waited.
[[nodiscard]] std::vector<Story> stories_of(const RunFiles& files, const std::vector<std::size_t>& requests);
// The ids of at most `count` requests with the largest figure, the largest first; only those that have one above 0.
[[nodiscard]] std::vector<std::size_t> worst(const RunFiles& files, std::size_t count, WorstBy by);

[[nodiscard]] std::string print_story(const Story& story);
[[nodiscard]] nlohmann::ordered_json story_json(const Story& story);

}  // namespace blockyard::report
