#include "sim/workload/trace_formats.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/formats/azure.h"
#include "sim/workload/formats/bailian.h"
#include "sim/workload/formats/blis.h"
#include "sim/workload/formats/blockyard_csv.h"
#include "sim/workload/formats/blockyard_jsonl.h"
#include "sim/workload/formats/burstgpt.h"
#include "sim/workload/formats/dynamo.h"
#include "sim/workload/formats/llmservingsim.h"
#include "sim/workload/formats/mooncake.h"
#include "sim/workload/formats/openai_log.h"
#include "sim/workload/formats/servegen.h"
#include "sim/workload/formats/sharegpt.h"
#include "sim/workload/formats/splitwise.h"
#include "sim/workload/formats/tracelab.h"
#include "sim/workload/formats/tracelab_replay.h"
#include "sim/workload/formats/vidur.h"
#include "sim/workload/formats/vllm_bench.h"
#include "sim/workload/formats/weka.h"
#include "sim/workload/numbers.h"

namespace blockyard::workload {
namespace {

bool tells_everything(const Opening& /*opening*/) { return true; }
bool only_by_name(const Opening& /*opening*/) { return false; }

bool has_delays(const Opening& opening) { return opening.has_columns({"delay_s"}); }
bool has_n(const Opening& opening) { return opening.has_columns({"n"}); }
// The first turn of a session waits for nothing, but names the session.
bool names_sessions(const Opening& opening) { return opening.has_key("session") || opening.has_key("delay_s"); }
bool names_n(const Opening& opening) { return opening.has_key("n"); }
bool names_mooncake_sessions(const Opening& opening) {
  return opening.has_key("session_id") || opening.has_key("delay");
}
// Below its YAML header the columns are not seen.
bool has_think_times(const Opening& opening) {
  return opening.has_columns({"think_time_us"}) || has_blis_header(opening);
}

constexpr std::array kFormats{
    TraceFormat{"azure", "Azure LLM inference traces 2023 and 2024, CSV", "TIMESTAMP,ContextTokens,GeneratedTokens",
                is_azure, tells_nothing, open_azure},
    TraceFormat{"azure-lmm", "Azure multi-modal trace 2025, CSV", "TIMESTAMP,NumImages,ContextTokens,GeneratedTokens",
                is_azure_lmm, tells_nothing, open_azure_lmm},
    TraceFormat{"bailian", "Bailian (Qwen) traces of Alibaba, JSON lines; conversations, 16 tokens an id",
                R"({"chat_id", "timestamp", "input_length", "output_length"[, "hash_ids"]})", is_bailian,
                tells_everything, open_bailian},
    TraceFormat{"blis", "TraceV2 of BLIS, CSV with or without its YAML header; sessions, tenants, shared beginnings",
                "arrival_time_us,input_tokens,output_tokens", is_blis, tells_everything, open_blis, has_think_times},
    TraceFormat{"blockyard", "Blockyard's own CSV", "arrival_s,prompt_tokens,output_tokens", is_blockyard_csv,
                has_content_columns, open_blockyard_csv, has_delays, has_n},
    TraceFormat{"blockyard-jsonl", "Blockyard's own JSON lines: the CSV's columns, and ids of prompt blocks",
                R"({"arrival_s", "prompt_tokens", "output_tokens"})", is_blockyard_jsonl, tells_everything,
                open_blockyard_jsonl, names_sessions, names_n},
    TraceFormat{"burstgpt", "BurstGPT 1 to 3, CSV", "Timestamp,Request tokens,Response tokens", is_burstgpt,
                tells_nothing, open_burstgpt},
    TraceFormat{"dynamo", "agent traces of NVIDIA Dynamo, JSON lines; sessions, hashes of 64-token blocks",
                R"({"input_length", "output_length", "trace_block_size", "input_sequence_hashes"})", is_dynamo,
                tells_everything, open_dynamo},
    TraceFormat{"llmservingsim", "LLMServingSim, JSON lines: flat, agentic, log of its benchmark",
                R"({"input_toks", "output_toks", "arrival_time_ns"} or {"sub_requests"})", is_llmservingsim,
                tells_everything, open_llmservingsim, tells_everything},
    TraceFormat{"mooncake", "Mooncake traces and their form with sessions, JSON lines; 512 tokens an id",
                R"({"timestamp", "input_length", "output_length"[, "hash_ids", "session_id", "delay"]})", is_mooncake,
                tells_everything, open_mooncake, names_mooncake_sessions},
    TraceFormat{"openai-log", "answers and logs of OpenAI-style servers, JSON lines or an array",
                R"({"created", "usage": {"prompt_tokens", "completion_tokens"}})", is_openai_log, tells_everything,
                open_openai_log},
    TraceFormat{"servegen", "clients of ServeGen, CSV and JSON: rates and lengths from which requests are drawn",
                "rows of start,rate,CV,Gamma|Weibull|,shape,scale", is_servegen, tells_nothing, open_servegen},
    TraceFormat{"sharegpt", "ShareGPT conversations, JSON; lengths at 4 characters a token, no times",
                R"({"conversations": [{"from", "value"}]})", is_sharegpt, tells_nothing, open_sharegpt},
    TraceFormat{"splitwise", "Splitwise-sim, CSV", "arrival_timestamp,prompt_size,token_size", is_splitwise,
                tells_nothing, open_splitwise},
    TraceFormat{"tracelab", "rounds of agents recorded by TraceLab, JSON lines; sessions, what was repeated",
                R"({"session_id", "input_tokens_total", "output_tokens", "timing_events"})", is_tracelab,
                tells_everything, open_tracelab, tells_everything},
    TraceFormat{"tracelab-replay", "replay files of TraceLab, CSV; sessions that wait for their tools",
                "session_id,prefix_len,input_len,output_len,tool_wait_after_ms", is_tracelab_replay, tells_everything,
                open_tracelab_replay, tells_everything},
    TraceFormat{"vidur", "processed traces of Vidur, CSV, also lengths alone", "num_prefill_tokens,num_decode_tokens",
                is_vidur, tells_nothing, open_vidur},
    TraceFormat{"vllm-bench", "results of vLLM's benchmark, one JSON object", R"({"input_lens", "output_lens"})",
                is_vllm_bench, tells_nothing, open_vllm_bench},
    TraceFormat{"vllm-timed", "timed_trace of vLLM's benchmark, JSON lines as of Mooncake, 16 tokens an id",
                "only by name: nothing tells it from mooncake", only_by_name, tells_everything, open_vllm_timed},
    TraceFormat{"weka", "agent traces of weka and cc-traces, JSON; sessions, 64-token ids of their own",
                R"({"t", "in", "out", "id", "hash_ids"})", is_weka, tells_everything, open_weka, tells_everything},
};

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

bool ask_opening(const std::string& path, const std::string& format, bool (*TraceFormat::*question)(const Opening&)) {
  if (!can_be_read_again(path)) return false;
  try {
    LineReader lines(display_name(path), open_bytes(path));
    const TraceFormat& found = find_trace_format(format, lines);
    return (found.*question)(Opening(lines));
  } catch (const InputError&) {
    return false;  // open_trace will say what is wrong
  }
}

const TraceFormat& find_trace_format(std::string_view name, LineReader& lines) {
  constexpr std::size_t kLineShown = 400;
  if (name != "auto") {
    std::vector<std::string> names{"auto"};
    for (const TraceFormat& format : kFormats) {
      if (format.name == name) return format;
      names.emplace_back(format.name);
    }
    throw InputError({}, fmt::format("unknown trace format {}, known are {}{}", quoted(name), fmt::join(names, ", "),
                                     did_you_mean(name, names)));
  }
  const Opening opening(lines);
  if (opening.line().empty()) throw InputError({lines.file()}, "is empty, expected a trace");
  for (const TraceFormat& format : kFormats) {
    if (format.recognise(opening)) return format;
  }
  if (!opening.damage().empty()) {
    throw InputError({lines.file(), 1},
                     fmt::format("{}; found {}", opening.damage(), quoted(opening.line(), kLineShown)));
  }
  std::string known;
  for (const TraceFormat& format : kFormats) known += fmt::format("\n  {}: {}", format.name, format.wanted);
  throw InputError({lines.file(), 1},
                   fmt::format("no known trace format; found {}, wanted one of (or name the format){}",
                               quoted(opening.line(), kLineShown), known));
}

}  // namespace blockyard::workload
