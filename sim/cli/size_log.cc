#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <ostream>

#include "sim/cli/numbers.h"
#include "sim/cli/size_report.h"
#include "sim/report/text_table.h"

namespace blockyard::cli {
namespace {

using model::EngineLog;
using model::Sizing;

double as_real(std::int64_t value) { return static_cast<double>(value); }

class Comparison {
 public:
  void add(const std::string& name, const std::optional<double>& said, const std::optional<double>& ours, int digits,
           const std::string& how) {
    if (!said) return;
    const auto shown = [&](double value) {
      return digits == 0 ? grouped(std::llround(value)) : fmt::format("{:.{}f}", value, digits);
    };
    std::string difference;
    if (ours) {
      const double less = *ours - *said;
      difference = *said != 0 ? fmt::format("{:+.2f} %", 100 * less / *said) : "";
    }
    table_.add({"  " + name, shown(*said), ours ? shown(*ours) : "-", difference});
    how_.push_back(how);
  }
  void head() {
    table_.add({"", "engine", "ours", "difference"});
    how_.emplace_back();
  }
  void print(std::ostream& out) const {
    const std::string text = table_.text();
    std::size_t start = 0;
    for (const std::string& how : how_) {
      const std::size_t end = text.find('\n', start);
      out << text.substr(start, end - start) << (how.empty() ? "" : "   " + how) << '\n';
      start = end + 1;
    }
  }

 private:
  report::TextTable table_{1};
  std::vector<std::string> how_;
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

}  // namespace

void print_log(const EngineLog& log, const std::optional<Sizing>& sizing, std::ostream& out) {
  out << fmt::format("engine      {}{}{}\n", log.version ? "vLLM " + *log.version + ", " : "",
                     log.model.value_or("a model not named"), log.tp ? fmt::format(", tp {}", *log.tp) : "");
  for (const std::string& note : log.notes) out << "warning     " << note << '\n';
  Comparison table;
  table.head();
  if (!sizing) {
    out << "no --model given: the log is looked at by itself\n\n";
    table.add("KV memory, GiB a GPU", log.kv_gib, std::nullopt, 2, "");
    table.add("KV tokens", number(log.kv_tokens), std::nullopt, 0, "");
    table.add("KV blocks", number(log.kv_blocks), std::nullopt, 0, "");
    add_consistency(log, table);
    table.print(out);
    return;
  }
  const Sizing& s = *sizing;
  out << fmt::format("ours        {} on {} x {}, max_model_len {}\n\n", s.model.name, s.options.tp * s.options.pp,
                     s.gpu.name, grouped(s.max_model_len.count()));
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
  table.add("KV memory, GiB a GPU", log.kv_gib, in_gib(s.kv_bytes), 2, "by our arithmetic alone");
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
  table.add("KV tokens", number(log.kv_tokens), as_real(s.kv_tokens.count()), 0, "by our arithmetic alone");
  table.add("KV blocks", number(log.kv_blocks), as_real(s.kv_blocks.count()), 0, "by our arithmetic alone");
  table.add("KV GiB needed", log.needed_gib, in_gib(s.needed_bytes), 2, "for one sequence of max_model_len");
  add_consistency(log, table);
  table.print(out);
}

}  // namespace blockyard::cli
