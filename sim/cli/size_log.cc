#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>
#include <type_traits>
#include <variant>
#include <vector>

#include "sim/cli/numbers.h"
#include "sim/cli/size_report.h"
#include "sim/report/text_table.h"

namespace blockyard::cli {
namespace {

using model::EngineLog;
using model::Sizing;
using nlohmann::ordered_json;

double as_real(std::int64_t value) { return static_cast<double>(value); }

// The engine's figures beside ours, in the order in which they are added.
class Comparison {
 public:
  void add(const std::string& name, const std::optional<double>& said, const std::optional<double>& ours, int digits,
           const std::string& how) {
    if (said) rows_.push_back({name, *said, ours, digits, how});
  }
  void print(std::ostream& out) const {
    report::TextTable table(1);
    table.add({"", "engine", "ours", "difference"});
    for (const Row& row : rows_) {
      const auto shown = [&](double value) {
        return row.digits == 0 ? grouped(std::llround(value)) : fmt::format("{:.{}f}", value, row.digits);
      };
      const std::optional<double> percent = row.percent();
      table.add({"  " + row.name, shown(row.said), row.ours ? shown(*row.ours) : "-",
                 percent ? fmt::format("{:+.2f} %", *percent) : ""});
    }
    // How a figure comes about is long: it stands behind, unaligned.
    std::istringstream lines(table.text());
    std::string line;
    std::getline(lines, line);
    out << line << '\n';
    for (const Row& row : rows_) {
      std::getline(lines, line);
      out << line << (row.how.empty() ? "" : "   " + row.how) << '\n';
    }
  }
  [[nodiscard]] ordered_json json() const {
    ordered_json list = ordered_json::array();
    for (const Row& row : rows_) {
      const std::optional<double> percent = row.percent();
      list.push_back({{"name", row.name},
                      {"engine", row.said},
                      {"ours", row.ours ? ordered_json(*row.ours) : ordered_json()},
                      {"difference_percent", percent ? ordered_json(*percent) : ordered_json()},
                      {"how", row.how}});
    }
    return list;
  }

 private:
  struct Row {
    std::string name;
    double said = 0;
    std::optional<double> ours;
    int digits = 0;
    std::string how;

    [[nodiscard]] std::optional<double> percent() const {
      return ours && said != 0 ? std::optional(100 * (*ours - said) / said) : std::nullopt;
    }
  };
  std::vector<Row> rows_;
};

std::optional<double> line_gib(const Sizing& s, std::string_view name) {
  for (const model::BudgetLine& line : s.bound().budget.lines) {
    if (line.name == name) return std::abs(in_gib(line.bytes));
  }
  return std::nullopt;
}

template <class T>
std::optional<double> number(const std::optional<T>& value) {
  return value ? std::optional(as_real(value->count())) : std::nullopt;
}

// The engine's own figures among each other.
void add_consistency(const EngineLog& log, Comparison& table) {
  if (log.kv_tokens && log.kv_blocks && log.kv_blocks->count() > 0) {
    table.add("block size", std::round(as_real(log.kv_tokens->count()) / as_real(log.kv_blocks->count())), std::nullopt,
              0, "its tokens / its blocks");
  }
  if (log.kv_gib && log.kv_tokens && log.kv_tokens->count() > 0) {
    table.add("bytes a token", *log.kv_gib * 1024 * 1024 * 1024 / as_real(log.kv_tokens->count()), std::nullopt, 0,
              "its KV memory / its tokens, one GPU");
  }
  if (log.max_concurrency && log.concurrency_length && log.kv_tokens) {
    table.add("concurrency", log.max_concurrency,
              as_real(log.kv_tokens->count()) / as_real(log.concurrency_length->count()), 2, "its tokens / its length");
  }
}

// The log by itself.
Comparison compared(const EngineLog& log) {
  Comparison table;
  table.add("KV memory, GiB a GPU", log.kv_gib, std::nullopt, 2, "");
  table.add("KV tokens", number(log.kv_tokens), std::nullopt, 0, "");
  table.add("KV blocks", number(log.kv_blocks), std::nullopt, 0, "");
  add_consistency(log, table);
  return table;
}

Comparison compared(const EngineLog& log, const Sizing& s) {
  Comparison table;
  table.add("GPU memory, GiB", log.total_gib, in_gib(s.gpu.memory_bytes), 2, "as the driver reports it");
  table.add("weights, GiB", log.weights_gib, line_gib(s, "weights"), 2, "");
  table.add("activation peak, GiB", log.activation_gib, line_gib(s, "activation peak"), 2,
            "rule " + s.options.overheads);
  table.add("non-torch, GiB", log.non_torch_gib, line_gib(s, "non-torch"), 2, "rule " + s.options.overheads);
  table.add("CUDA graphs, GiB", log.cuda_graphs_gib, line_gib(s, "CUDA graphs"), 2, "rule " + s.options.overheads);
  if (log.total_gib && log.gpu_memory_utilization && log.weights_gib && log.kv_gib) {
    const double left = *log.total_gib * *log.gpu_memory_utilization - *log.weights_gib -
                        log.activation_gib.value_or(0) - log.non_torch_gib.value_or(0);
    table.add("KV memory, GiB a GPU", log.kv_gib, left, 2, "by its own lines: total x utilisation - the rest");
  }
  // Where the log is all there is of the GPU, ours is its own.
  const bool alone = std::holds_alternative<model::FromGpuMemory>(s.options.request);
  if (alone) table.add("KV memory, GiB a GPU", log.kv_gib, in_gib(s.kv_bytes), 2, "by our arithmetic alone");
  if (log.kv_gib) {
    model::SizeOptions given = s.options;
    given.request = Bytes(std::llround(*log.kv_gib * 1024 * 1024 * 1024));
    const Sizing from = model::size_of(s.model, s.gpu, given);
    table.add("KV tokens", number(log.kv_tokens), as_real(from.kv_tokens.count()), 0, "of its KV memory");
    table.add("KV blocks", number(log.kv_blocks), as_real(from.kv_blocks.count()), 0, "of its KV memory");
    table.add("concurrency", log.max_concurrency, from.max_concurrency, 2, "of its KV memory");
    if (from.largest_max_model_len) {
      table.add("largest max_model_len", number(log.largest_max_model_len),
                as_real(from.largest_max_model_len->count()), 0, "of its KV memory, which is rounded in the log");
    }
  }
  if (alone) {
    table.add("KV tokens", number(log.kv_tokens), as_real(s.kv_tokens.count()), 0, "by our arithmetic alone");
    table.add("KV blocks", number(log.kv_blocks), as_real(s.kv_blocks.count()), 0, "by our arithmetic alone");
  } else if (!log.kv_gib) {
    table.add("concurrency", log.max_concurrency, s.max_concurrency, 2, "of its blocks or tokens");
  }
  table.add("KV GiB needed", log.needed_gib, in_gib(s.needed_bytes), 2, "for one sequence of max_model_len");
  add_consistency(log, table);
  return table;
}

template <class T>
void put(ordered_json& json, const char* key, const std::optional<T>& value) {
  if (!value) return;
  if constexpr (std::is_same_v<T, Tokens> || std::is_same_v<T, Blocks>) {
    json[key] = value->count();
  } else {
    json[key] = *value;
  }
}

}  // namespace

void print_log(const EngineLog& log, const std::optional<Sizing>& sizing, std::ostream& out) {
  out << fmt::format("engine      {}{}{}\n", log.version ? "vLLM " + *log.version + ", " : "",
                     log.model.value_or("a model not named"), log.tp ? fmt::format(", tp {}", *log.tp) : "");
  for (const std::string& note : log.notes) out << "warning     " << note << '\n';
  if (!sizing) {
    out << "no --model given: the log is looked at by itself\n\n";
    compared(log).print(out);
    return;
  }
  const Sizing& s = *sizing;
  out << fmt::format("ours        {} on {} x {}, max_model_len {}\n\n", s.model.name, s.options.tp * s.options.pp,
                     s.gpu.name, grouped(s.max_model_len.count()));
  compared(log, s).print(out);
}

ordered_json log_json(const model::EngineLog& log, const std::optional<Sizing>& sizing) {
  ordered_json said = ordered_json::object();
  put(said, "version", log.version);
  put(said, "model", log.model);
  put(said, "tensor_parallel_size", log.tp);
  put(said, "pipeline_parallel_size", log.pp);
  put(said, "data_parallel_size", log.dp);
  put(said, "kv_cache_dtype", log.kv_cache_dtype);
  put(said, "max_model_len", log.max_model_len);
  put(said, "max_num_batched_tokens", log.max_num_batched_tokens);
  put(said, "gpu_memory_utilization", log.gpu_memory_utilization);
  put(said, "total_gib", log.total_gib);
  put(said, "weights_gib", log.weights_gib);
  put(said, "activation_gib", log.activation_gib);
  put(said, "non_torch_gib", log.non_torch_gib);
  put(said, "cuda_graphs_gib", log.cuda_graphs_gib);
  put(said, "kv_gib", log.kv_gib);
  put(said, "kv_tokens", log.kv_tokens);
  put(said, "kv_blocks", log.kv_blocks);
  put(said, "host_blocks", log.host_blocks);
  put(said, "max_concurrency", log.max_concurrency);
  put(said, "concurrency_length", log.concurrency_length);
  put(said, "needed_gib", log.needed_gib);
  put(said, "largest_max_model_len", log.largest_max_model_len);
  ordered_json json = {{"schema", "blockyard.size_log/1"},
                       {"log", said},
                       {"notes", log.notes},
                       {"comparison", sizing ? compared(log, *sizing).json() : compared(log).json()}};
  if (sizing) json["arithmetic"] = size_json(*sizing, {}, std::nullopt);
  return json;
}

}  // namespace blockyard::cli
