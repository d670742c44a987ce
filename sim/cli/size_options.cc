#include "sim/cli/size_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "sim/cli/config_folder.h"
#include "sim/scenario/value.h"
#include "sim/serving/hardware.h"

namespace blockyard::cli {
namespace {

using scenario::Kind;

std::vector<std::string> pieces(const std::vector<std::string>& values) {
  std::vector<std::string> all;
  for (const std::string& value : values) {
    std::size_t start = 0;
    while (start <= value.size()) {
      const std::size_t comma = std::min(value.find(',', start), value.size());
      const std::size_t first = value.find_first_not_of(' ', start);
      if (first < comma) all.push_back(value.substr(first, value.find_last_not_of(' ', comma - 1) + 1 - first));
      start = comma + 1;
    }
  }
  return all;
}

// Reads options and collects what is wrong with them.
class Reader {
 public:
  Reader(const Options& options, Diagnostics& wrong) : options_(options), wrong_(wrong) {}

  [[nodiscard]] std::optional<scenario::Value> value(const std::string& name, Kind kind) {
    const std::optional<std::string> text = options_.value_of(name);
    return text ? parsed(name, *text, kind) : std::nullopt;
  }
  [[nodiscard]] std::optional<scenario::Value> parsed(const std::string& name, const std::string& text, Kind kind) {
    const scenario::Reading reading = scenario::read_value(text, kind);
    if (!reading.value) complain(name, reading.problem);
    return reading.value;
  }
  void count(const std::string& name, std::int64_t low, std::int64_t high, std::int64_t& slot) {
    if (const auto read = value(name, Kind::integer)) in_range(name, read->count, low, high, slot);
  }
  void tokens(const std::string& name, Tokens& slot) {
    std::int64_t number = slot.count();
    if (const auto read = value(name, Kind::tokens)) in_range(name, read->count, 1, 1'000'000'000, number);
    slot = Tokens(number);
  }
  void bytes(const std::string& name, std::optional<Bytes>& slot) {
    const std::optional<std::string> text = options_.value_of(name);
    if (!text) return;
    if (const auto read = amount(name, *text, Kind::bytes)) slot = Bytes(*read);
  }
  // A quantity from 0 on.
  [[nodiscard]] std::optional<std::int64_t> amount(const std::string& name, const std::string& text, Kind kind) {
    const auto read = parsed(name, text, kind);
    if (!read) return std::nullopt;
    if (read->count >= 0) return read->count;
    complain(name, fmt::format("expected {} from 0 on, found {}", scenario::noun_of(kind), scenario::in_quotes(text)));
    return std::nullopt;
  }
  void in_range(const std::string& name, std::int64_t number, std::int64_t low, std::int64_t high, std::int64_t& slot) {
    if (number < low || number > high) {
      complain(name, fmt::format("expected {} to {}, found {}", low, high, number));
    } else {
      slot = number;
    }
  }
  void complain(const std::string& name, const std::string& problem) { wrong_.add({"--" + name, 0, 0}, problem); }

 private:
  const Options& options_;
  Diagnostics& wrong_;
};

constexpr std::int64_t kMostGpus = 4096;

template <class Load>
void collect(Diagnostics& wrong, const Load& load) {
  try {
    load();
  } catch (const InputError& error) {
    for (const Diagnostic& d : error.diagnostics()) wrong.add(d.place, d.message);
  }
}

std::optional<model::ElementType> kv_type(const std::string& text, Reader& reader) {
  if (text == "auto") return std::nullopt;
  // The engine's own names.
  if (text == "fp8_e4m3" || text == "fp8_e5m2" || text == "fp8_inc" || text == "fp8_ds_mla")
    return model::ElementType::fp8;
  const std::optional<model::ElementType> type = model::element_type(text);
  std::vector<std::string> known{"auto"};
  for (const NameDoc& doc : model::kv_element_types()) known.push_back(doc.name);
  if (!type || *type == model::ElementType::mxfp4) {
    reader.complain("kv-cache-dtype", fmt::format("\"{}\" is not known, expected one of {}{}", text,
                                                  fmt::join(known, ", "), did_you_mean(text, known)));
  }
  return type;
}

void read_engine(const Options& options, const model::EngineLog* log, Reader& reader, model::SizeOptions& o) {
  // A log of a version before 0.21, the first to print tokens of a full-length mix of layers.
  if (log != nullptr && log->v0) {
    o.engine = model::Engine::vllm_v0;
  } else if (log != nullptr && log->version && log->version->starts_with("0.")) {
    const int minor = std::atoi(log->version->c_str() + 2);
    if (minor <= 20) o.engine = model::Engine::vllm_0_20;
  }
  const std::optional<std::string> name = options.value_of("engine");
  if (!name) return;
  const std::map<std::string, model::Engine> engines{{"vllm", model::Engine::vllm},
                                                     {"vllm-v1", model::Engine::vllm},
                                                     {"vllm-0.20", model::Engine::vllm_0_20},
                                                     {"vllm-v0", model::Engine::vllm_v0}};
  if (const auto found = engines.find(*name); found != engines.end()) {
    o.engine = found->second;
  } else {
    reader.complain("engine", fmt::format("expected vllm, vllm-0.20 or vllm-v0, found \"{}\"", *name));
  }
}

// A log is of one engine, and is looked at alone where no model is named.
void refuse_unused(const Options& options, const SizeQuestion& q, Reader& reader) {
  for (const char* name : {"context", "trace", "format"}) {
    if (options.has(name)) reader.complain(name, "goes with a size, not with --from-log");
  }
  if (q.tps.size() > 1) reader.complain("tp", "expected one size with --from-log");
  if (q.gpus.size() > 1) reader.complain("gpu", "expected one GPU with --from-log");
  if (q.model) return;
  for (const std::string& option : options.names()) {
    const std::string name = option.substr(2);
    const bool told = name == "context" || name == "trace" || name == "format";
    if (name == "from-log" || name == "json" || told || !options.has(name)) continue;
    reader.complain(name, "needs --model beside --from-log");
  }
}

// At most one of the ways to give the KV cache outright.
void read_budget(const Options& options, Reader& reader, model::SizeOptions& o) {
  int given = 0;
  if (const std::optional<std::string> text = options.value_of("budget")) {
    ++given;
    const std::optional<scenario::NumberAndUnit> parts = scenario::split_number(*text);
    const bool blocks = parts && parts->unit.starts_with("block");
    const bool tokens = parts && parts->unit.starts_with("token");
    if (blocks) {
      if (const auto read = reader.amount("budget", *text, Kind::blocks)) o.request = Blocks(*read);
    } else if (tokens) {
      if (const auto read = reader.amount("budget", *text, Kind::tokens)) o.request = Tokens(*read);
    } else if (const auto read = reader.amount("budget", *text, Kind::bytes)) {
      o.request = Bytes(*read);
    }
  }
  if (const std::optional<std::string> text = options.value_of("kv-cache-memory-bytes")) {
    ++given;
    const bool plain = text->find_first_not_of("0123456789") == std::string::npos;
    if (const auto read = reader.amount("kv-cache-memory-bytes", plain ? *text + " B" : *text, Kind::bytes))
      o.request = Bytes(*read);
  }
  if (options.has("num-gpu-blocks-override")) {
    ++given;
    std::int64_t blocks = 0;
    reader.count("num-gpu-blocks-override", 1, 1'000'000'000'000, blocks);
    o.request = Blocks(blocks);
  }
  if (given > 1) {
    reader.complain("budget",
                    "budget, kv-cache-memory-bytes and num-gpu-blocks-override say the same thing: expected "
                    "one of them");
  }
}

void read_gpus(const Options& options, const model::EngineLog* log, Reader& reader, SizeQuestion& q,
               Diagnostics& wrong) {
  for (const std::string& name : pieces(options.values_of("gpu"))) {
    collect(wrong, [&] { q.gpus.push_back(serving::gpu_named(name, config_folder()).spec); });
  }
  std::optional<Bytes> memory;
  reader.bytes("gpu-memory", memory);
  if (memory && q.gpus.empty()) {
    model::GpuSpec gpu;
    gpu.name = "gpu";
    q.gpus.push_back(gpu);
  }
  for (model::GpuSpec& gpu : q.gpus) {
    if (memory) gpu.memory_bytes = *memory;
  }
  const bool from_memory = std::holds_alternative<model::FromGpuMemory>(q.options.request);
  if (q.gpus.empty() && log != nullptr && log->total_gib) {
    model::GpuSpec gpu;
    gpu.name = "GPU of the log";
    gpu.memory_bytes = Bytes(std::llround(*log->total_gib * (1LL << 30)));
    q.gpus.push_back(gpu);
  } else if (q.gpus.empty() && log != nullptr && from_memory && (log->kv_gib || log->kv_blocks || log->kv_tokens)) {
    if (log->kv_gib) {
      q.options.request = Bytes(std::llround(*log->kv_gib * (1LL << 30)));
    } else if (log->kv_blocks) {
      q.options.request = *log->kv_blocks;
    } else {
      q.options.request = *log->kv_tokens;
    }
    q.gpus.emplace_back();
    q.gpus.back().name = "GPU of the log";
  }
  if (q.gpus.empty() && wrong.empty()) {
    if (from_memory) {
      wrong.add({"--gpu", 0, 0}, "missing: name a GPU (`blockyard list gpus`), or give the KV cache with --budget");
    }
    model::GpuSpec any;
    any.name = "any GPU";
    q.gpus.push_back(any);
  }
}

}  // namespace

model::SizeOptions SizeQuestion::options_of(const model::GpuSpec& gpu, std::int64_t tp) const {
  model::SizeOptions o = options;
  o.tp = tp;
  const model::BatchLimits batch = model::default_batch(gpu);
  if (!batch_tokens_given) o.max_num_batched_tokens = batch.tokens;
  if (!batch_sequences_given) o.max_num_seqs = batch.sequences;
  return o;
}

void declare_size_options(Options& o) {
  o.value("model", "NAME|FILE", "a name of `blockyard list models`, a YAML like those, or a Hugging Face config.json");
  o.values("gpu", "NAME[,NAME...]", "names of `blockyard list gpus`; several make a table");
  o.value("gpu-memory", "BYTES", "of one GPU, in place of what its entry says: \"79.19 GiB\"");
  o.values("tp", "N[,N...]", "tensor-parallel sizes; several make a table (1)");
  o.values("tensor-parallel-size", "N", "the same");
  o.value("pp", "N", "pipeline stages (1)");
  o.value("pipeline-parallel-size", "N", "the same");
  o.value("dp", "N", "data-parallel replicas, which share the experts of a mixture (1)");
  o.value("data-parallel-size", "N", "the same");
  o.value("decode-context-parallel-size", "N", "ranks of a tensor-parallel group that deal out the tokens (1)");
  o.value("kv-cache-dtype", "TYPE",
          "auto, bf16, fp16, fp8, int8, int4, nvfp4 (auto: what the model asks for, or 16 bits)");
  o.value("dtype", "TYPE", "format of weights that are not quantised, in place of the model's");
  o.value("gpu-memory-utilization", "SHARE", "of the GPU that the engine may use (0.9)");
  o.value("max-model-len", "TOKENS", "longest sequence (the model's max_position_embeddings)");
  o.value("max-num-batched-tokens", "TOKENS",
          "of a step (the engine's default: 8192 on GPUs of 70 GiB and more but A100, else 2048)");
  o.value("max-num-seqs", "N", "sequences of a step (likewise: 1024 or 256)");
  o.value("block-size", "TOKENS", "of a block (16)");
  o.value("budget", "AMOUNT",
          "KV cache outright: \"58.11 GiB\" of each GPU, \"7463 blocks\" or \"119408 tokens\" of all");
  o.value("kv-cache-memory-bytes", "BYTES", "KV cache of each GPU, as the engine's flag");
  o.value("num-gpu-blocks-override", "N", "blocks, as the engine's flag");
  o.value("overheads", "NAME", "rule for what the engine takes beside weights and KV (`blockyard list overheads`)");
  o.value("weights", "BYTES", "of one GPU, in place of our count");
  o.value("activation", "BYTES", "activation peak, in place of the rule");
  o.value("non-torch", "BYTES", "in place of the rule");
  o.value("cuda-graphs", "BYTES", "in place of the rule");
  o.flag("disable-hybrid-kv-cache-manager", "windowed layers keep every token, as with the engine's flag");
  o.value("draft-layers", "N",
          "layers of a drafter (EAGLE, multi-token prediction) that keep KV beside the model's (0)");
  o.value("num-speculative-tokens", "N", "recurrent state is kept once more for each (0)");
  o.value("engine", "NAME",
          "vllm (0.21 on), vllm-0.20 or vllm-v0: how the tokens and the concurrency that it prints are counted (vllm)");
  o.values("context", "TOKENS[,...]", "how many sequences of this length fit at once; more lengths may follow");
  o.words("TOKENS", 0, 1000, "further lengths of --context");
  o.value("trace", "FILE", "how many of a trace's requests fit at once, at their real lengths");
  o.value("format", "NAME", "of the trace, instead of recognising it");
  o.value("from-log", "FILE", "start-up lines of an engine, shown beside our arithmetic; - for standard input");
  o.flag("json", "print JSON, and nothing else, to standard output");
}

SizeQuestion read_size_options(const Options& options, const model::EngineLog* log) {
  Diagnostics wrong;
  Reader reader(options, wrong);
  SizeQuestion q;
  model::SizeOptions& o = q.options;

  if (const std::optional<std::string> name = options.value_of("model")) {
    collect(wrong, [&] { q.model = serving::model_named(*name, config_folder()); });
  } else if (log == nullptr) {
    wrong.add({"--model", 0, 0}, "missing: name a model (`blockyard list models`) or a config.json");
  }
  if (const std::optional<std::string> name = options.value_of("dtype")) {
    const std::optional<model::ElementType> type = model::element_type(*name);
    if (!type) reader.complain("dtype", fmt::format("\"{}\" is not known", *name));
    if (q.model && type) q.model->dtype = *type;
  }

  std::vector<std::string> tps = pieces(options.values_of("tp"));
  for (const std::string& tp : pieces(options.values_of("tensor-parallel-size"))) tps.push_back(tp);
  for (const std::string& text : tps) {
    std::int64_t tp = 1;
    if (const auto read = reader.parsed("tp", text, Kind::integer))
      reader.in_range("tp", read->count, 1, kMostGpus, tp);
    q.tps.push_back(tp);
  }
  if (log != nullptr) {
    if (q.tps.empty() && log->tp) q.tps.push_back(*log->tp);
    o.pp = log->pp.value_or(1);
    o.dp = log->dp.value_or(1);
    o.max_model_len = log->max_model_len ? log->max_model_len : log->concurrency_length;
    o.gpu_memory_utilization = log->gpu_memory_utilization.value_or(o.gpu_memory_utilization);
    o.max_num_batched_tokens = log->max_num_batched_tokens.value_or(o.max_num_batched_tokens);
    if (log->kv_cache_dtype && !options.has("kv-cache-dtype")) o.kv_dtype = kv_type(*log->kv_cache_dtype, reader);
  }
  if (q.tps.empty()) q.tps.push_back(1);
  if (options.has("pp") && options.has("pipeline-parallel-size"))
    reader.complain("pp", "pipeline-parallel-size says the same thing: expected one of them");
  if (log == nullptr && options.has("format") && !options.has("trace"))
    reader.complain("format", "means nothing without --trace");
  reader.count("pp", 1, kMostGpus, o.pp);
  reader.count("pipeline-parallel-size", 1, kMostGpus, o.pp);
  if (options.has("dp") && options.has("data-parallel-size"))
    reader.complain("dp", "data-parallel-size says the same thing: expected one of them");
  reader.count("dp", 1, kMostGpus, o.dp);
  reader.count("data-parallel-size", 1, kMostGpus, o.dp);
  reader.count("decode-context-parallel-size", 1, kMostGpus, o.dcp);
  if (const std::optional<std::string> text = options.value_of("kv-cache-dtype")) o.kv_dtype = kv_type(*text, reader);
  if (const auto read = reader.value("gpu-memory-utilization", Kind::real)) {
    if (read->number > 0 && read->number <= 1) {
      o.gpu_memory_utilization = read->number;
    } else {
      reader.complain("gpu-memory-utilization",
                      fmt::format("expected a share above 0, at most 1, found {}", read->number));
    }
  }
  if (options.has("max-model-len")) {
    Tokens limit(1);
    reader.tokens("max-model-len", limit);
    o.max_model_len = limit;
  }
  reader.tokens("max-num-batched-tokens", o.max_num_batched_tokens);
  q.batch_tokens_given = options.has("max-num-batched-tokens") || (log != nullptr && log->max_num_batched_tokens);
  q.batch_sequences_given = options.has("max-num-seqs");
  std::int64_t block_size = o.block_size.count();
  reader.count("block-size", 1, 65'536, block_size);
  o.block_size = Tokens(block_size);
  reader.count("max-num-seqs", 1, 1'000'000, o.max_num_seqs);
  reader.count("draft-layers", 0, 1000, o.draft_layers);
  reader.count("num-speculative-tokens", 0, 1000, o.speculative_tokens);
  o.hybrid_manager = !options.has("disable-hybrid-kv-cache-manager");
  read_engine(options, log, reader, o);
  o.overheads = options.value_of("overheads").value_or(o.overheads);
  if (model::overhead_preset(o.overheads) == nullptr) {
    std::vector<std::string> known;
    for (const NameDoc& doc : model::overhead_presets()) known.push_back(doc.name);
    reader.complain("overheads", fmt::format("no rule \"{}\", expected one of {}{}", o.overheads,
                                             fmt::join(known, ", "), did_you_mean(o.overheads, known)));
  }
  reader.bytes("weights", o.given.weights);
  reader.bytes("activation", o.given.activation_peak);
  reader.bytes("non-torch", o.given.non_torch);
  reader.bytes("cuda-graphs", o.given.cuda_graphs);
  read_budget(options, reader, o);
  std::vector<std::string> contexts = pieces(options.values_of("context"));
  if (contexts.empty() && !options.words().empty()) {
    options.fail(
        fmt::format("\"{}\" is one word too many: only lengths of --context stand alone", options.words().front()));
  }
  for (const std::string& text : pieces(options.words())) contexts.push_back(text);
  for (const std::string& text : contexts) {
    std::int64_t length = 1;
    if (const auto read = reader.parsed("context", text, Kind::tokens))
      reader.in_range("context", read->count, 1, 1'000'000'000, length);
    q.contexts.emplace_back(length);
  }
  if (q.model || log == nullptr) read_gpus(options, log, reader, q, wrong);
  if (log != nullptr) refuse_unused(options, q, reader);
  wrong.throw_if_any();
  return q;
}

}  // namespace blockyard::cli
