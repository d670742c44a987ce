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
  // The number behind the first (or last) occurrence of `words`, all in lower case.
  [[nodiscard]] std::optional<double> after(std::string_view words) const {
    const std::size_t at = lower_.find(words);
    return at == std::string::npos ? std::nullopt : number_at(std::string_view(lower_).substr(at + words.size()));
  }
  // What stands behind `words` in quotes.
  [[nodiscard]] std::optional<std::string> quoted_after(std::string_view words) const {
    const std::size_t at = lower_.find(words);
    if (at == std::string::npos) return std::nullopt;
    const std::size_t open = text_.find_first_of("'\"", at + words.size());
    if (open == std::string::npos || open > at + words.size() + 1) return std::nullopt;
    const std::size_t close = text_.find(text_[open], open + 1);
    if (close == std::string::npos) return std::nullopt;
    return text_.substr(open + 1, close - open - 1);
  }
  // The word behind `words`, up to a comma, a blank or a bracket.
  [[nodiscard]] std::optional<std::string> word_after(std::string_view words) const {
    const std::size_t at = lower_.find(words);
    if (at == std::string::npos) return std::nullopt;
    const std::size_t start = at + words.size();
    return text_.substr(start, text_.find_first_of(", )\t", start) - start);
  }

 private:
  const std::string& text_;
  std::string lower_;
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
    if (line.has("llm engine (v")) log_.version = line.word_after("llm engine (v");
    for (const char* key : {"config: model=", "model="}) {
      if (!log_.model) log_.model = line.quoted_after(key);
    }
    if (const auto value = integer(line.after("tensor_parallel_size="))) log_.tp = value;
    if (const auto value = integer(line.after("pipeline_parallel_size="))) log_.pp = value;
    for (const char* key : {"max_seq_len=", "max_model_len="}) {
      if (const auto value = tokens(line.after(key))) log_.max_model_len = value;
    }
    for (const char* key : {"max_num_batched_tokens=", "chunked prefill is enabled with max_num_batched_tokens="}) {
      if (const auto value = tokens(line.after(key))) log_.max_num_batched_tokens = value;
    }
    if (line.has("kv_cache_dtype=")) {
      const auto quoted = line.quoted_after("kv_cache_dtype=");
      log_.kv_cache_dtype = quoted ? quoted : line.word_after("kv_cache_dtype=");
    }
  }

  void memory(const Line& line) {
    least(log_.weights_gib, line.after("model loading took"), "weights");
    least(log_.weights_gib, line.after("model weights take"), "weights");
    least(log_.weights_gib, line.after("loading model weights took"), "weights");
    least(log_.non_torch_gib, line.after("non_torch_memory takes"), "non-torch memory");
    least(log_.activation_gib, line.after("pytorch activation peak memory takes"), "activation peak");
    least(log_.activation_gib, line.after("peak activation memory"), "activation peak");
    least(log_.total_gib, line.after("total_gpu_memory ("), "GPU memory");
    least(log_.gpu_memory_utilization, line.after("gpu_memory_utilization ("), "gpu_memory_utilization");
    if (line.has("graph capturing finished")) least(log_.cuda_graphs_gib, line.after("took"), "CUDA graphs");
    if (line.has("graph capturing finished") && line.has(", took")) log_.cuda_graphs_gib = line.after(", took");
    for (const char* key : {"available kv cache memory:", "reserved for kv cache is", "available kv cache memory ("}) {
      least(log_.kv_gib, line.after(key), "KV memory");
    }
  }

  void cache(const Line& line) {
    least(log_.kv_tokens, tokens(line.after("kv cache size:")), "KV cache size");
    least(log_.kv_tokens, tokens(line.after("max_total_num_tokens=")), "KV cache size");
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
    if (line.has("kv cache is needed")) log_.needed_gib = line.after("), (") ? line.after("), (") : line.after("len (");
    for (const char* key : {"estimated maximum model length is", "estimated max model len is"}) {
      least(log_.largest_max_model_len, tokens(line.after(key)), "largest length");
    }
    if (line.has("that can be stored in kv cache")) {
      least(log_.kv_tokens, tokens(line.after("stored in kv cache")), "KV cache size");
    }
  }

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
  return log;
}

}  // namespace blockyard::model
