// A recorded run of an engine: its configuration, its requests, and one JSON line a step of what it decided. JSON
// lines: first the header, then the steps, then the end. The keys of a step's line are listed in recorder.h, which
// writes them.
//
//   {"format":"vllm-oracle-v1/1","name":"two","config":{"policy":"fcfs","block_size":16,...},
//    "requests":[["r0000",0,0,0,11,6291456,[[3145728,5],[5242880,118]]],...],"aborts":[[3,4]]}
//
// A request is [id, arrival step, priority, arrival time, max tokens, first output token id, prompt as [start, count]
// runs]; the k-th token that it generates has the id first + k. Everywhere else a request is named by its index.
// Reading is O(bytes); wrong input is an InputError with file and line.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/content.h"
#include "sim/base/quantities.h"
#include "sim/workload/request.h"

namespace blockyard::study {

using Json = nlohmann::ordered_json;

enum class RecordedEngine { vllm_v0, vllm_v1 };

struct RecordConfig {
  bool priority = false;
  Tokens block_size;
  Blocks gpu_blocks;   // vllm-v1: the null block included
  Blocks host_blocks;  // vllm-v0
  std::int64_t max_num_seqs = 0;
  Tokens max_num_batched_tokens;
  Tokens max_model_len;
  Tokens long_prefill_token_threshold;  // vllm-v1
  bool chunked_prefill = false;
  bool prefix_caching = false;
  bool frontend_check = false;
  bool reserve_full_isl = false;          // vllm-v1, 0.19 and later
  bool swap = false;                      // vllm-v0: preemption_mode "swap"
  std::optional<std::int64_t> max_steps;  // stop before the step with this number
};

struct RecordedRequest {
  std::int64_t arrival_step = 0;
  workload::Request request;
  Content content;  // prompt and all that it may generate
};

struct RecordedAbort {
  std::int64_t step = 0;
  std::size_t request = 0;
};

struct RecordLine {
  int number = 0;  // in its file
  Json json;
};

struct Record {
  std::string file;
  RecordedEngine engine = RecordedEngine::vllm_v1;
  Json header;
  RecordConfig config;
  std::vector<RecordedRequest> requests;
  std::vector<RecordedAbort> aborts;
  std::vector<RecordLine> steps;
  RecordLine end;
};

[[nodiscard]] Record read_record(const std::string& file);

// The header alone, for a run that is yet to be made. `file` names the origin of mistakes.
[[nodiscard]] Record read_header(const Json& header, const std::string& file);

// The lines of a record, each with its newline.
[[nodiscard]] std::string to_text(const Record& record);

}  // namespace blockyard::study
