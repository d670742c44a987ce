#include "sim/study/conform/record.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <fstream>

#include "sim/base/diagnostics.h"

namespace blockyard::study {
namespace {

constexpr const char* kFormatV0 = "vllm-oracle-v0/1";
constexpr const char* kFormatV1 = "vllm-oracle-v1/1";

[[noreturn]] void fail(const Place& place, std::string message) { throw InputError(place, std::move(message)); }

const Json& member(const Json& object, const std::string& key, const Place& place) {
  const auto found = object.find(key);
  if (found != object.end()) return *found;
  std::vector<std::string> keys;
  for (const auto& item : object.items()) keys.push_back(item.key());
  fail(place, fmt::format("\"{}\" is missing{}", key, did_you_mean(key, keys)));
}

std::int64_t integer(const Json& value, const std::string& what, const Place& place, std::int64_t least) {
  if (!value.is_number_integer() || value.get<std::int64_t>() < least) {
    fail(place, fmt::format("{} is {}, expected an integer of at least {}", what, value.dump(), least));
  }
  return value.get<std::int64_t>();
}

bool boolean(const Json& config, const std::string& key, const Place& place) {
  const Json& value = member(config, key, place);
  if (!value.is_boolean()) fail(place, fmt::format("\"{}\" is {}, expected true or false", key, value.dump()));
  return value.get<bool>();
}

std::string name_of(const Json& config, const std::string& key, const Place& place) {
  const Json& value = member(config, key, place);
  if (!value.is_string()) fail(place, fmt::format("\"{}\" is {}, expected a name", key, value.dump()));
  return value.get<std::string>();
}

RecordConfig read_config(const Json& json, RecordedEngine engine, const Place& place) {
  const auto number = [&](const char* key, std::int64_t least) {
    return integer(member(json, key, place), fmt::format("\"{}\"", key), place, least);
  };
  RecordConfig config;
  const std::string policy = name_of(json, "policy", place);
  if (policy != "fcfs" && policy != "priority") {
    fail(place, fmt::format("\"policy\" is \"{}\", expected fcfs or priority", policy));
  }
  config.priority = policy == "priority";
  config.block_size = Tokens(number("block_size", 1));
  config.gpu_blocks = Blocks(number("num_gpu_blocks", engine == RecordedEngine::vllm_v1 ? 2 : 1));
  config.max_num_seqs = number("max_num_seqs", 1);
  config.max_num_batched_tokens = Tokens(number("max_num_batched_tokens", 1));
  config.max_model_len = Tokens(number("max_model_len", 1));
  config.chunked_prefill = boolean(json, "enable_chunked_prefill", place);
  config.prefix_caching = boolean(json, "enable_prefix_caching", place);
  config.frontend_check = boolean(json, "frontend_check", place);
  if (json.contains("max_steps")) config.max_steps = number("max_steps", 0);
  if (engine == RecordedEngine::vllm_v1) {
    config.long_prefill_token_threshold = Tokens(number("long_prefill_token_threshold", 0));
    if (json.contains("scheduler_reserve_full_isl")) {
      config.reserve_full_isl = boolean(json, "scheduler_reserve_full_isl", place);
    }
    return config;
  }
  config.host_blocks = Blocks(number("num_cpu_blocks", 0));
  const Json& mode = member(json, "preemption_mode", place);
  config.swap = mode == "swap";
  if (!config.swap && mode != "recompute" && !mode.is_null()) {
    fail(place, fmt::format("\"preemption_mode\" is {}, expected null, \"recompute\" or \"swap\"", mode.dump()));
  }
  if (config.swap && config.prefix_caching) {
    fail(place, "\"preemption_mode\" swap goes with no prefix caching: the engine cannot swap shared blocks");
  }
  return config;
}

RecordedRequest read_request(const Json& json, std::size_t index, const Place& place) {
  constexpr std::array kFields{"id",         "arrival step",       "priority", "arrival time",
                               "max tokens", "first output token", "runs"};
  const std::string what = fmt::format("request {}", index);
  if (!json.is_array() || json.size() != kFields.size()) {
    fail(place, fmt::format("{} is {}, expected [{}]", what, json.dump(), fmt::join(kFields, ", ")));
  }
  const auto number = [&](std::size_t field, std::int64_t least) {
    return integer(json[field], fmt::format("{}: {}", what, kFields[field]), place, least);
  };
  RecordedRequest r;
  r.arrival_step = number(1, 0);
  r.request.priority = static_cast<std::int32_t>(number(2, INT32_MIN));
  if (!json[3].is_number()) fail(place, fmt::format("{}: arrival time is {}, expected a number", what, json[3].dump()));
  r.request.arrival = to_time(json[3].get<double>());
  r.request.max_tokens = r.request.output_tokens = Tokens(number(4, 1));
  if (!json[6].is_array()) fail(place, fmt::format("{}: runs is {}, expected a list", what, json[6].dump()));
  for (const Json& run : json[6]) {
    if (!run.is_array() || run.size() != 2) {
      fail(place, fmt::format("{}: a run is {}, expected [start, count]", what, run.dump()));
    }
    const TokenRun tokens{integer(run[0], what + ": start of a run", place, INT64_MIN),
                          integer(run[1], what + ": count of a run", place, 0)};
    append_run(r.content, tokens);
    r.request.prompt_tokens += Tokens(tokens.count);
  }
  if (r.request.prompt_tokens < Tokens(1)) fail(place, what + " has an empty prompt");
  append_run(r.content, {number(5, INT64_MIN), r.request.max_tokens.count()});
  return r;
}

Json parse(const std::string& line, const Place& place) {
  try {
    return Json::parse(line);
  } catch (const Json::parse_error& error) {
    fail({place.file, place.line, static_cast<int>(error.byte)}, "no JSON: expected one object a line");
  }
}

}  // namespace

Record read_header(const Json& header, const std::string& file) {
  const Place place{file, 1, 0};
  Record record;
  record.file = file;
  record.header = header;
  if (!header.is_object()) fail(place, "expected the header of a recorded run");
  const std::string format = name_of(header, "format", place);
  if (format != kFormatV0 && format != kFormatV1) {
    fail(place, fmt::format("\"format\" is \"{}\", expected {} or {}", format, kFormatV1, kFormatV0));
  }
  record.engine = format == kFormatV0 ? RecordedEngine::vllm_v0 : RecordedEngine::vllm_v1;
  const Json& config = member(header, "config", place);
  if (!config.is_object()) fail(place, "\"config\": expected an object");
  record.config = read_config(config, record.engine, place);
  const Json& requests = member(header, "requests", place);
  if (!requests.is_array()) fail(place, "\"requests\": expected a list");
  for (const Json& request : requests) {
    record.requests.push_back(read_request(request, record.requests.size(), place));
  }
  if (!header.contains("aborts")) return record;
  for (const Json& abort : header["aborts"]) {
    if (!abort.is_array() || abort.size() != 2) {
      fail(place, fmt::format("an abort is {}, expected [step, request]", abort.dump()));
    }
    const std::int64_t request = integer(abort[1], "an abort's request", place, 0);
    if (request >= static_cast<std::int64_t>(record.requests.size())) {
      fail(place, fmt::format("request {} is aborted, there are {}", request, record.requests.size()));
    }
    record.aborts.push_back({integer(abort[0], "an abort's step", place, 0), static_cast<std::size_t>(request)});
  }
  return record;
}

Record read_record(const std::string& file) {
  std::ifstream in(file);
  if (!in) fail({file, 0, 0}, "cannot be read");
  Record record;
  std::string line;
  int number = 0;
  bool ended = false;
  while (std::getline(in, line)) {
    const Place place{file, ++number, 0};
    if (line.empty()) continue;
    if (ended) fail(place, "a line after the end");
    Json json = parse(line, place);
    if (!json.is_object()) fail(place, "expected one object a line");
    if (number == 1) {
      record = read_header(json, file);
    } else if (json.contains("end")) {
      record.end = {number, std::move(json)};
      ended = true;
    } else {
      integer(member(json, "s", place), "\"s\"", place, 0);
      member(json, "sch", place);
      record.steps.push_back({number, std::move(json)});
    }
  }
  if (in.bad()) fail({file, number, 0}, "cannot be read further");
  if (number == 0) fail({file, 0, 0}, "is empty, expected a recorded run");
  if (!ended) fail({file, number, 0}, "the file ends before the run does: expected a line with \"end\"");
  return record;
}

std::string to_text(const Record& record) {
  std::string text = record.header.dump() + '\n';
  for (const RecordLine& line : record.steps) text += line.json.dump() + '\n';
  return text + record.end.json.dump() + '\n';
}

}  // namespace blockyard::study
