#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "sim/cli/numbers.h"
#include "sim/cli/size_report.h"
#include "sim/report/text_table.h"

namespace blockyard::cli {
namespace {

using model::LayerGroup;
using model::LayerKind;
using model::Sizing;
using report::TextTable;

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;
constexpr std::size_t kColumns = 110;

std::string gib(Bytes bytes) { return fmt::format("{:.2f}", in_gib(bytes)); }

std::string amount(Bytes bytes) {
  const auto value = static_cast<double>(bytes.count());
  if (value >= kGiB) return fmt::format("{:.2f} GiB", value / kGiB);
  if (value >= 1024.0 * 1024.0) return fmt::format("{:.1f} MiB", value / (1024.0 * 1024.0));
  return fmt::format("{} B", grouped(bytes.count()));
}

std::string head(const Sizing& s) {
  const model::SizeOptions& o = s.options;
  std::string text = fmt::format("{} on {} x {}", s.model.name, o.tp * o.pp, s.gpu.name);
  if (o.pp > 1) text += fmt::format(" (tp {}, pp {})", o.tp, o.pp);
  if (o.dp > 1) text += fmt::format(", one of {} replicas", o.dp);
  return text;
}

std::string weights_type(const model::ModelSpec& m) {
  return m.quantization ? fmt::format("{} over {}", m.quantization->method, name_of(m.dtype))
                        : std::string(name_of(m.dtype));
}

std::string kind_text(const LayerGroup& group) {
  switch (group.kind) {
    case LayerKind::full_attention:
      return group.latent ? "latent attention" : "full attention";
    case LayerKind::sliding_window:
      return fmt::format("a window of {}", grouped(group.window.count()));
    case LayerKind::chunked_attention:
      return fmt::format("chunks of {}", grouped(group.window.count()));
    case LayerKind::recurrent:
      return "recurrent state";
  }
  return "";
}

// How a layer's bytes come about, on one GPU.
std::string formula(const LayerGroup& group, const Sizing& s) {
  if (group.shares_kv) return "nothing: reads the KV of an earlier layer";
  const model::RecurrentState& state = group.state;
  if (!group.attends()) {
    return fmt::format("{} x {} B + {} x {} B a sequence, over {} GPU(s)", grouped(state.elements),
                       bytes_per_element(state.type), grouped(state.conv_elements), bytes_per_element(state.conv_type),
                       s.options.tp);
  }
  const double b = bytes_per_element(s.kv_dtype);
  std::string text;
  if (group.latent) {
    text = fmt::format("{} latent elements x {} B, whole on each GPU", group.d_k, b);
  } else {
    const std::int64_t heads = model::kv_heads_per_gpu(group.kv_heads, s.options.tp);
    text = fmt::format("{} KV heads x ({} + {}) x {} B", heads, group.d_k, group.d_v, b);
    if (s.options.tp > group.kv_heads)
      text += fmt::format(" ({} heads, each on {} GPUs)", group.kv_heads, s.options.tp / group.kv_heads);
  }
  if (group.index_bytes > 0) text += fmt::format(" + {} B of index key", group.index_bytes);
  if (group.stride > 1) text = fmt::format("({}) / {} tokens an entry", text, group.stride);
  if (s.options.dcp > 1) text += fmt::format(", dealt out over {} GPUs", s.options.dcp);
  if (state.conv_elements > 0) text += fmt::format("; {} a sequence", amount(state_bytes(group, s.options.tp)));
  return text;
}

void print_memory(const Sizing& s, std::ostream& out) {
  const model::StageSize& bound = s.bound();
  out << (s.stages.size() > 1 ? fmt::format("\nmemory of one GPU of the stage that binds, layers {} to {}:\n",
                                            bound.stage.first, bound.stage.last - 1)
                              : std::string("\nmemory of one GPU\n"));
  TextTable table(1);
  table.add({"", "GiB", "B"});
  for (const model::BudgetLine& line : bound.budget.lines) {
    table.add({"  " + line.name, gib(line.bytes), grouped(line.bytes.count())});
  }
  table.add({"  KV cache", gib(s.kv_bytes), grouped(s.kv_bytes.count())});
  // Formulas are long: they stand behind the figures, unaligned.
  std::string text = table.text();
  std::size_t row = 0;
  std::size_t start = text.find('\n') + 1;
  out << text.substr(0, start);
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    std::string line = text.substr(start, end - start);
    if (row < bound.budget.lines.size()) {
      const model::BudgetLine& from = bound.budget.lines[row];
      line += fmt::format("   {} [{}]", from.formula, from.source);
    } else {
      line += "   what is left";
    }
    out << line << '\n';
    start = end + 1;
    ++row;
  }
  const std::int64_t gpus = s.options.tp * s.options.pp;
  if (gpus > 1) {
    // Every stage holds as many blocks as the one that binds; what others have left beyond these is of no use.
    const Bytes used(s.kv_blocks.count() * s.options.block_size.count() * s.bytes_per_token_of_replica.count());
    const bool unlike = s.stages.size() > 1 && used < s.kv_bytes_of_replica;
    out << fmt::format(
        "  KV cache of all {} GPUs: {} GiB{}\n", gpus, gib(s.kv_bytes_of_replica),
        unlike ? fmt::format(", of which {} GiB are used: every stage holds the blocks that this one can", gib(used))
               : std::string());
  }
}

void print_geometry(const Sizing& s, std::ostream& out) {
  out << fmt::format("\nKV of a token, on one GPU{}, in {}\n", s.stages.size() > 1 ? " of each stage together" : "",
                     name_of(s.kv_dtype));
  const model::KvSplit split{s.options.tp, s.options.dcp, s.kv_dtype};
  TextTable table(2);
  for (const LayerGroup& group : model::kv_geometry(s.model)) {
    const double each = token_bytes(group, split);
    const double all = each * static_cast<double>(group.layers());
    table.add({fmt::format("  {} layers, {}", group.layers(), kind_text(group)), formula(group, s),
               group.attends() ? grouped(std::llround(all)) + " B" : "-"});
  }
  out << table.text();
  const bool cut = s.stages.size() > 1;
  out << fmt::format("  a token: {} B on one GPU{}, {} B on all\n", grouped(s.bytes_per_token.count()),
                     cut ? " of the stage that binds" : "", grouped(s.bytes_per_token_of_replica.count()));
  if (s.window_bytes > Bytes(0)) {
    out << fmt::format("  beyond the windows: {} B a token, and at most {} in the windows\n",
                       grouped(s.bytes_per_token_beyond.count()), amount(s.window_bytes));
  }
  if (s.fixed_bytes_per_sequence > Bytes(0)) {
    out << fmt::format("  whatever the length: {} a sequence\n", amount(s.fixed_bytes_per_sequence));
  }
}

void print_blocks(const Sizing& s, std::ostream& out) {
  const model::KvLayout& layout = s.bound().layout;
  if (layout.groups.empty()) {
    out << "\nno layer keeps KV in blocks\n";
    return;
  }
  out << fmt::format("\nblocks of {} tokens\n", grouped(layout.block_size.count()));
  if (layout.hybrid()) {
    out << fmt::format("  pages are made equal: {} B a layer; a block id is a page in each of {} layers: {} B\n",
                       grouped(layout.page_bytes.count()), layout.layers_per_group,
                       grouped(layout.block_bytes.count()));
    for (const model::PageGroup& group : layout.groups) {
      LayerGroup like;
      like.kind = group.kind;
      like.window = group.window;
      out << fmt::format("    {} layers, {}: {} group(s){}\n", group.layers, kind_text(like), group.groups,
                         group.kind == LayerKind::recurrent
                             ? ", one page a sequence"
                             : fmt::format(" of {} tokens a page", grouped(group.block.count())));
    }
    out << fmt::format("    padding: {:.1f} % of a block\n", 100 * layout.padding_share());
  } else {
    out << fmt::format("  a block: {} B on one GPU\n", grouped(layout.block_bytes.count()));
  }
  if (layout.full_for_windows) out << "  windowed layers keep every token (no hybrid manager for them)\n";
  out << fmt::format("  {} blocks = {} / {} B; one is the engine's null block\n", grouped(s.kv_blocks.count()),
                     gib(s.kv_bytes) + " GiB", grouped(layout.block_bytes.count()));
  out << fmt::format("  {} tokens in all{}\n", grouped(s.kv_tokens.count()),
                     !layout.hybrid() ? ""
                     : s.options.engine == model::Engine::vllm
                         ? fmt::format(", as the engine says it: concurrency x {}", grouped(s.max_model_len.count()))
                         : std::string(", as the engine says it: blocks / groups x the smallest block"));
}

void print_concurrency(const Sizing& s, const std::vector<Tokens>& contexts, std::ostream& out) {
  out << fmt::format("\nsequences at once\n  maximum concurrency at {} tokens: {:.2f}x = {} blocks / {} a sequence\n",
                     grouped(s.max_model_len.count()), s.max_concurrency, grouped(s.kv_blocks.count()),
                     grouped(s.blocks_of(s.max_model_len).count()));
  std::vector<Tokens> lengths = contexts;
  if (lengths.empty()) lengths = {Tokens(2048), Tokens(8192), Tokens(32768), Tokens(131072)};
  TextTable table(0);
  table.add({"tokens", "GiB each", "by arithmetic", "in whole blocks at their peak, null block kept"});
  for (const Tokens length : lengths) {
    if (contexts.empty() && length > s.max_model_len) continue;
    table.add({"  " + grouped(length.count()), fmt::format("{:.3f}", in_gib(s.bytes_of(length))),
               fmt::format("{:.2f}", s.by_arithmetic(length)), grouped(s.by_engine(length))});
  }
  out << table.text();
  if (s.largest_max_model_len) {
    out << fmt::format("  largest max_model_len: {}{}\n", grouped(s.largest_max_model_len->count()),
                       *s.largest_max_model_len > Tokens(s.model.max_position_embeddings)
                           ? fmt::format(" (the model was made for {})", grouped(s.model.max_position_embeddings))
                           : "");
  } else {
    out << "  largest max_model_len: memory sets none\n";
  }
}

void print_trace(const TraceFit& t, std::ostream& out) {
  out << fmt::format("\ntrace {}: {} requests of {:.0f} tokens on average (prompt + output), the longest {}\n", t.file,
                     grouped(t.requests), t.mean_tokens, grouped(t.longest.count()));
  out << fmt::format("  at once: {:.1f} of its requests, each at its full length ({:.2f} blocks)\n", t.concurrency,
                     t.mean_blocks);
  out << fmt::format("           {:.1f} of those in flight: long outputs stay longer ({:.2f} blocks)\n",
                     t.concurrency_in_flight, t.mean_blocks_in_flight);
  if (t.beyond_max_model_len > 0)
    out << fmt::format("  beyond max_model_len: {} requests\n", grouped(t.beyond_max_model_len));
  if (t.never_fit > 0) out << fmt::format("  never fit, alone in the pool: {} requests\n", grouped(t.never_fit));
}

std::string short_parameters(std::int64_t count) { return fmt::format("{:.3g} B", static_cast<double>(count) / 1e9); }

}  // namespace

double in_gib(Bytes bytes) { return static_cast<double>(bytes.count()) / kGiB; }

void print_size(const Sizing& s, const std::vector<Tokens>& contexts, const std::optional<TraceFit>& trace,
                std::ostream& out) {
  out << head(s) << "\n\n";
  const std::int64_t parameters = model::parameter_count(s.model);
  const std::int64_t active = model::active_parameter_count(s.model);
  out << fmt::format("model       {} parameters{} in {}, {} layers, {} positions [{}]\n", short_parameters(parameters),
                     active < parameters ? fmt::format(" ({} active)", short_parameters(active)) : "",
                     weights_type(s.model), s.model.num_hidden_layers, grouped(s.model.max_position_embeddings),
                     s.model.source);
  out << fmt::format(
      "engine      steps of at most {} tokens and {} sequences, {} of the GPU, sequences of at most {} tokens\n",
      grouped(s.options.max_num_batched_tokens.count()), grouped(s.options.max_num_seqs),
      s.options.gpu_memory_utilization, grouped(s.max_model_len.count()));
  for (const std::string& part : s.model.not_counted) out << fmt::format("not counted {}\n", part);
  if (s.model.draft_layers > 0 && s.options.draft_layers == 0) {
    out << fmt::format(
        "not counted {} multi-token prediction layer(s): engines keep them with speculative decoding alone "
        "(--draft-layers)\n",
        s.model.draft_layers);
  }
  if (s.options.draft_layers > 0) {
    out << fmt::format("drafter     {} layer(s) keep KV beside the model's; its weights are not counted\n",
                       s.options.draft_layers);
  }
  print_memory(s, out);
  print_geometry(s, out);
  if (s.kv_bytes > Bytes(0)) {
    print_blocks(s, out);
    print_concurrency(s, contexts, out);
  }
  if (trace) print_trace(*trace, out);
  if (std::holds_alternative<model::FromGpuMemory>(s.options.request)) {
    const model::OverheadPreset* preset = model::overhead_preset(s.options.overheads);
    out << '\n' << report::wrapped(fmt::format("rule {}: ", preset->name), preset->doc, kColumns, "  ");
  }
}

void print_refusal(const Sizing& s, std::ostream& out) {
  if (s.kv_bytes <= Bytes(0)) {
    out << fmt::format(
        "{} does not fit: {} GiB are left for the KV cache of one GPU, and one sequence of {} tokens needs "
        "{} GiB\n",
        head(s), gib(s.kv_bytes), grouped(s.max_model_len.count()), gib(s.needed_bytes));
  } else {
    out << fmt::format(
        "{} does not fit: one sequence of {} tokens needs {} GiB of KV cache on one GPU, and {} GiB are "
        "there. Largest max_model_len: {}\n",
        head(s), grouped(s.max_model_len.count()), gib(s.needed_bytes), gib(s.kv_bytes),
        grouped(s.largest_max_model_len.value_or(Tokens(0)).count()));
  }
  const std::vector<std::string> ways = remedies(s);
  out << (ways.empty()
              ? std::string("None of a shorter limit, more of the GPU, 8-bit KV or weights, or 16 GPUs helps.\n")
              : fmt::format("What would make it fit, each by itself: {}.\n", fmt::join(ways, "; ")));
}

void print_table(const std::vector<Sizing>& cases, const std::vector<Tokens>& contexts,
                 const std::vector<TraceFit>& traces, std::ostream& out) {
  const Sizing& first = cases.front();
  out << fmt::format("{}, max_model_len {}, KV in {}\n\n", first.model.name, grouped(first.max_model_len.count()),
                     name_of(first.kv_dtype));
  TextTable table(1);
  std::vector<std::string> above{"", "weights", "KV", "KV of all", "a token", "", "", "maximum", "largest", ""};
  std::vector<std::string> heads{"GPUs",   "GiB each", "GiB each",    "GiB",           "B each",
                                 "blocks", "tokens",   "concurrency", "max_model_len", "fits"};
  for (const Tokens length : contexts) {
    above.emplace_back("at once");
    heads.push_back("of " + grouped(length.count()));
  }
  if (!traces.empty()) {
    above.emplace_back("at once");
    heads.emplace_back("of trace");
  }
  table.add(above);
  table.add(heads);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const Sizing& s = cases[i];
    const Bytes weights =
        s.options.given.weights.value_or(weight_bytes_per_gpu(s.model, s.options.tp, s.bound().stage, s.options.dp));
    std::vector<std::string> row{fmt::format("{} x {}", s.options.tp * s.options.pp, s.gpu.name),
                                 gib(weights),
                                 gib(s.kv_bytes),
                                 gib(s.kv_bytes_of_replica),
                                 grouped(s.bytes_per_token.count()),
                                 grouped(s.kv_blocks.count()),
                                 grouped(s.kv_tokens.count()),
                                 fmt::format("{:.2f}x", s.max_concurrency),
                                 s.largest_max_model_len ? grouped(s.largest_max_model_len->count()) : "any",
                                 s.fits ? "yes" : "no"};
    for (const Tokens length : contexts) row.push_back(grouped(s.by_engine(length)));
    if (!traces.empty()) row.push_back(fmt::format("{:.1f}", traces[i].concurrency_in_flight));
    table.add(std::move(row));
  }
  out << table.text();
}

}  // namespace blockyard::cli
