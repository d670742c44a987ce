// A measured server, request by request: what a benchmark's client or the engine's own log said. Three formats, told
// apart by their first character and keys:
//
//   CSV      columns by name, in any order, among others: arrival_s, prompt_tokens, output_tokens, and ttft_s or e2e_s
//            (seconds; empty = not measured). arrival_measured_s goes before arrival_s. tpot_s where it is given, else
//            (e2e - ttft) / (outputs - 1), which is taken too where the two differ. error: a row with anything but 0,
//            false, none or nothing in it failed. prompt_id: equal prompts have equal numbers. prefix_id,
//            prefix_tokens: prompts with one prefix_id begin alike. Beside `x.csv`, `x.blocks.csv` with request_id and
//            block_ids names every prompt's blocks of 16 tokens, and goes before these columns.
//   JSON     the result file of `vllm bench serve --save-result --save-detailed`: start_times, input_lens, output_lens,
//            ttfts, itls, errors. An itl is a gap between chunks, which hold a token each, several or none: the last
//            token is at ttft + the sum of the itls; several tokens without an itl have no time of the last
//   JSONL    LLMServingSim's request log: input_toks, output_toks, queued_ts, first_token_ts, last_token_ts, error; a
//            request without a first or a last token (null) failed
//
// Law: requests are in order of arrival, the first one's is 0, and every one was served; failed ones and those without
// an output are left out and counted. Wrong files are an InputError with every fault and its place. Cost: one pass;
// requests are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/content.h"
#include "sim/base/quantities.h"

namespace blockyard::study {

struct MeasuredRequest {
  SimTime arrival;
  Tokens prompt_tokens;
  Tokens output_tokens;
  std::optional<SimTime> ttft;
  std::optional<double> tpot_ns;  // a mean, hence no whole number; none for one-token outputs
  std::optional<SimTime> e2e;
  Content content;  // what the file says of the prompt; empty = nothing. Tokens behind it are nobody else's
};

// What the prompts are known to share by.
enum class SharedBy { nothing, blocks, prompt_id, prefix_id, prefix_and_prompt_id };

// The file, and what of it was taken.
struct MeasuredFile {
  std::string name;
  std::string format;                 // "csv", "vllm-bench", "llmservingsim"
  std::vector<std::string> read;      // its columns, lists or keys, in the file's order
  std::vector<std::string> not_read;  // the others; of a bench result its lists by request
  SharedBy shared_by = SharedBy::nothing;
  std::string blocks_file;          // that names the prompts' blocks; empty: there is none
  std::int64_t failed = 0;          // requests, left out
  std::int64_t without_output = 0;  // likewise: no error is told, and no token came
  std::int64_t untimed = 0;         // requests without a measured time: simulated, not compared
  std::int64_t out_of_order = 0;    // that stand behind one that arrived after them
  std::int64_t other_tpot = 0;      // whose tpot_s is not that of their ttft_s and e2e_s
  std::int64_t without_gaps = 0;    // of several tokens and not one itl: their e2e and tpot are not known
  std::int64_t fewer_gaps = 0;      // with some itls, less than output_lens - 1
  std::int64_t more_gaps = 0;       // with more
  std::int64_t long_prefix = 0;     // whose prefix_tokens are more than their prompt_tokens
  // What a benchmark says of its client: model_id, request_rate, burstiness, max_concurrency, where it does.
  std::vector<std::pair<std::string, std::string>> client = {};
};

struct MeasuredRun {
  MeasuredFile file;
  std::vector<MeasuredRequest> requests;
  std::vector<std::int64_t> gaps_ns;  // between consecutive tokens, pooled, where the file has them
  [[nodiscard]] bool tells_contents() const;
};

// A tpot_s counts as rounded up to this share and time, and beyond as another time than TPOT.
inline constexpr double kTpotShare = 0.05;
inline constexpr double kTpotNs = 1e6;

[[nodiscard]] MeasuredRun read_measured(const std::string& path);

}  // namespace blockyard::study
