#include "sim/model/engine_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <istream>
#include <string_view>

namespace blockyard::model {
namespace {

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), [](unsigned char c) { return std::tolower(c); });
  return made;
}

// The number at the start of `text`, behind blanks and opening marks; commas group digits.
std::optional<double> number_at(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && std::string_view(" \t(:='\"`").find(text[at]) != std::string_view::npos) ++at;
  std::string digits;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    const bool digit_next = at + 1 < text.size() && std::isdigit(static_cast<unsigned char>(text[at + 1])) != 0;
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || (c == '.' && digit_next)) {
      digits += c;
    } else if (c != ',' || !digit_next) {
      break;
    }
  }
  double value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

class Line {
 public:
  explicit Line(const std::string& text) : text_(text), lower_(lower(text)) {}

  [[nodiscard]] bool has(std::string_view words) const { return lower_.find(words) != std::string::npos; }
  // The number behind the first occurrence of `words`, all in lower case; behind the first `mark` after them if there
  // is one.
  [[nodiscard]] std::optional<double> after(std::string_view words, std::string_view mark = {}) const {
    std::size_t at = lower_.find(words);
    if (at != std::string::npos) at = lower_.find(mark, at + words.size());
    return at == std::string::npos ? std::nullopt : number_at(std::string_view(lower_).substr(at + mark.size()));
  }
  // The number before `words`, with or without a unit between.
  [[nodiscard]] std::optional<double> before(std::string_view words) const {
    const std::size_t end = lower_.find(words);
    if (end == std::string::npos) return std::nullopt;
    const std::size_t last = lower_.find_last_of("0123456789", end);
    if (last == std::string::npos || end - last > 6) return std::nullopt;
    const std::size_t first = lower_.find_last_not_of("0123456789.,", last);
    return number_at(std::string_view(lower_).substr(first == std::string::npos ? 0 : first + 1, last - first));
  }
  // The word behind `words`, up to a comma, a blank or a bracket; without its quotes.
  [[nodiscard]] std::optional<std::string> word_after(std::string_view words) const {
    const std::size_t at = lower_.find(words);
    return at == std::string::npos ? std::nullopt : word_at(at + words.size());
  }
  // An option as engines print it: name=value, 'name': value, --name value (with dashes).
  [[nodiscard]] std::optional<std::string> setting(const std::string& name) const {
    std::string flag = "--" + name;
    std::replace(flag.begin(), flag.end(), '_', '-');
    for (const std::string& form :
         {name + "=", "'" + name + "': ", "\"" + name + "\": ", flag + " ", flag + "=", "--" + name + "="}) {
      for (std::size_t at = lower_.find(form); at != std::string::npos; at = lower_.find(form, at + 1)) {
        const char previous = at == 0 ? ' ' : lower_[at - 1];
        const bool inside =
            std::isalnum(static_cast<unsigned char>(previous)) != 0 || previous == '_' || previous == '-';
        if (!inside) return word_at(at + form.size());
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] std::optional<double> number(const std::string& name) const {
    const std::optional<std::string> text = setting(name);
    return text ? number_at(*text) : std::nullopt;
  }

 private:
  const std::string& text_;
  std::string lower_;

  [[nodiscard]] std::optional<std::string> word_at(std::size_t start) const {
    if (start < text_.size() && (text_[start] == '\'' || text_[start] == '"')) {
      const std::size_t close = text_.find(text_[start], start + 1);
      if (close == std::string::npos) return std::nullopt;
      return text_.substr(start + 1, close - start - 1);
    }
    const std::size_t end = std::min(text_.find_first_of(", )}\t\r", start), text_.size());
    if (end <= start) return std::nullopt;
    return text_.substr(start, end - start);
  }
};

class Reader {
 public:
  explicit Reader(EngineLog& log) : log_(log) {}

  void take(const Line& line) {
    configuration(line);
    memory(line);
    cache(line);
    refusal(line);
  }
  // What is said twice in different words: the line of its own comes first.
  void finish() {
    if (!log_.weights_gib) log_.weights_gib = weights_in_use_;
    if (!log_.cuda_graphs_gib) log_.cuda_graphs_gib = graphs_in_use_ ? graphs_in_use_ : graphs_estimated_;
    if (kv_bytes_in_use_ && !log_.kv_gib) log_.kv_gib = *kv_bytes_in_use_ / (1LL << 30);
  }

 private:
  // Ranks print the same line; the engine takes the least.
  template <class T>
  void least(std::optional<T>& slot, const std::optional<T>& value, const char* what) {
    if (!value) return;
    if (slot && *slot != *value && std::find(differing_.begin(), differing_.end(), what) == differing_.end()) {
      differing_.emplace_back(what);
      log_.notes.push_back(fmt::format("ranks or restarts differ in {}: the least is taken", what));
    }
    slot = slot ? std::min(*slot, *value) : *value;
  }
  static std::optional<Tokens> tokens(const std::optional<double>& value) {
    return value ? std::optional(Tokens(static_cast<std::int64_t>(*value))) : std::nullopt;
  }
  static std::optional<Blocks> blocks(const std::optional<double>& value) {
    return value ? std::optional(Blocks(static_cast<std::int64_t>(*value))) : std::nullopt;
  }
  static std::optional<std::int64_t> integer(const std::optional<double>& value) {
    return value ? std::optional(static_cast<std::int64_t>(*value)) : std::nullopt;
  }

  void configuration(const Line& line) {
    for (const char* words : {"llm engine (v", "api server version "}) {
      if (!log_.version) log_.version = line.word_after(words);
    }
    if (line.has("initializing an llm engine (v") || line.has("initializing a v0 llm engine (v")) log_.v0 = true;
    for (const char* name : {"model", "model_path"}) {
      if (!log_.model) log_.model = line.setting(name);
    }
    if (!log_.model) log_.model = line.word_after("vllm serve ");
    for (const char* name : {"tensor_parallel_size", "tp_size"}) {
      if (const auto value = integer(line.number(name))) log_.tp = value;
    }
    for (const char* name : {"pipeline_parallel_size", "pp_size"}) {
      if (const auto value = integer(line.number(name))) log_.pp = value;
    }
    if (const auto value = integer(line.number("data_parallel_size"))) log_.dp = value;
    for (const char* name : {"max_seq_len", "max_model_len", "context_len"}) {
      if (const auto value = tokens(line.number(name))) log_.max_model_len = value;
    }
    if (const auto value = tokens(line.after("using max model len "))) log_.max_model_len = value;
    if (const auto value = tokens(line.number("max_num_batched_tokens"))) log_.max_num_batched_tokens = value;
    if (const auto value = line.number("gpu_memory_utilization")) log_.gpu_memory_utilization = value;
    if (const auto value = line.setting("kv_cache_dtype")) log_.kv_cache_dtype = value;
  }

  void memory(const Line& line) {
    for (const char* words : {"model loading took", "model weights take", "loading model weights took"}) {
      least(log_.weights_gib, line.after(words), "weights");
    }
    if (line.has("load weight end")) least(log_.weights_gib, line.number("mem usage"), "weights");
    least(log_.non_torch_gib, line.after("non_torch_memory takes"), "non-torch memory");
    least(log_.activation_gib, line.after("pytorch activation peak memory takes"), "activation peak");
    least(log_.total_gib, line.after("total_gpu_memory ("), "GPU memory");
    least(log_.gpu_memory_utilization, line.after("gpu_memory_utilization ("), "gpu_memory_utilization");
    if (line.has("graph capturing finished")) least(log_.cuda_graphs_gib, line.after(", took"), "CUDA graphs");
    for (const char* key : {"available kv cache memory:", "reserved for kv cache is", "available kv cache memory ("}) {
      least(log_.kv_gib, line.after(key), "KV memory");
    }
    profile(line);
    other_engines(line);
  }

  // vLLM 0.6: total_gpu_memory=79.10GiB ... kv_cache_size=54.71GiB. From 0.11 on: Free memory on device (78.6/79.19
  // GiB) on startup. Desired GPU memory utilization is (0.9, 71.27 GiB). Actual usage is 14.99 GiB for weight, ...
  void profile(const Line& line) {
    if (line.has("memory profiling results")) {
      least(log_.total_gib, line.number("total_gpu_memory"), "GPU memory");
      least(log_.non_torch_gib, line.number("non_torch_memory"), "non-torch memory");
      least(log_.kv_gib, line.number("kv_cache_size"), "KV memory");
    }
    least(log_.total_gib, line.after("free memory on device", "/"), "GPU memory");
    for (const char* words : {"desired gpu memory utilization is (", "desired gpu memory utilization ("}) {
      least(log_.gpu_memory_utilization, line.after(words), "gpu_memory_utilization");
    }
    if (line.has("actual usage is")) {
      least(weights_in_use_, line.before("for weight"), "weights");
      least(log_.activation_gib, line.before("for peak activation"), "activation peak");
      least(log_.non_torch_gib, line.before("for non-torch memory"), "non-torch memory");
      least(graphs_in_use_, line.before("for cudagraph memory"), "CUDA graphs");
    }
    least(graphs_estimated_, line.after("estimated cuda graph memory:"), "CUDA graphs");
    least(kv_bytes_in_use_, line.after("kv cache memory in use is"), "KV memory");
  }

  void other_engines(const Line& line) {
    if (line.has("kv cache is allocated")) {
      const auto keys = line.after("k size:");
      const auto values = line.after("v size:");
      least(log_.kv_gib, keys && values ? std::optional(*keys + *values) : line.after("kv size:"), "KV memory");
      least(log_.kv_tokens, tokens(line.after("#tokens:")), "KV cache size");
    }
    if (line.has("tokens in paged kv cache")) {
      least(log_.kv_tokens, tokens(line.after("tokens in paged kv cache")), "KV cache size");
      least(log_.kv_gib, line.after("allocated "), "KV memory");
    }
  }

  void cache(const Line& line) {
    least(log_.kv_tokens, tokens(line.after("kv cache size:")), "KV cache size");
    least(log_.kv_tokens, tokens(line.number("max_total_num_tokens")), "KV cache size");
    least(log_.kv_blocks, blocks(line.after("# gpu blocks:")), "GPU blocks");
    least(log_.kv_blocks, blocks(line.after("# cuda blocks:")), "GPU blocks");
    least(log_.host_blocks, blocks(line.after("# cpu blocks:")), "CPU blocks");
    if (!line.has("maximum concurrency for")) return;
    const auto concurrency = line.after("per request:");
    if (concurrency && (!log_.max_concurrency || *concurrency <= *log_.max_concurrency)) {
      log_.max_concurrency = concurrency;
      log_.concurrency_length = tokens(line.after("maximum concurrency for"));
    }
  }

  void refusal(const Line& line) {
    for (const char* key : {"max seq len (", "max seq len"}) {
      if (!log_.max_model_len) log_.max_model_len = tokens(line.after(key));
    }
    if (const auto value = line.before("kv cache is needed")) log_.needed_gib = value;
    for (const char* key : {"estimated maximum model length is", "estimated max model len is"}) {
      least(log_.largest_max_model_len, tokens(line.after(key)), "largest length");
    }
    if (line.has("that can be stored in kv cache")) {
      least(log_.kv_tokens, tokens(line.after("stored in kv cache")), "KV cache size");
    }
  }

  std::optional<double> weights_in_use_;
  std::optional<double> graphs_in_use_;
  std::optional<double> graphs_estimated_;
  std::optional<double> kv_bytes_in_use_;
  EngineLog& log_;
  std::vector<std::string> differing_;
};

}  // namespace

bool EngineLog::empty() const {
  return !kv_gib && !kv_tokens && !kv_blocks && !max_concurrency && !largest_max_model_len;
}

EngineLog read_engine_log(std::istream& in) {
  EngineLog log;
  Reader reader(log);
  std::string text;
  while (std::getline(in, text)) reader.take(Line(text));
  reader.finish();
  return log;
}

}  // namespace blockyard::model
