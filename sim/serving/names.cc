#include "sim/serving/names.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <string_view>

#include "sim/kv/allocator/strategies.h"
#include "sim/kv/eviction/policies.h"
#include "sim/model/element_type.h"
#include "sim/model/kv_geometry.h"
#include "sim/model/memory_budget.h"
#include "sim/model/weights.h"
#include "sim/sched/preemption/mode.h"
#include "sim/sched/preemption/victim.h"
#include "sim/sched/schedulers.h"
#include "sim/sched/waiting_queue.h"
#include "sim/serving/engine_preset.h"
#include "sim/serving/hardware.h"
#include "sim/serving/router.h"
#include "sim/workload/generator.h"
#include "sim/workload/max_tokens.h"
#include "sim/workload/trace_formats.h"

namespace blockyard::serving {
namespace {

// Where an entry's numbers were read: the first line of a YAML's opening comment, or "_source" at the top of a JSON.
std::string source_line(const std::filesystem::path& file) {
  std::ifstream text(file);
  std::string line;
  std::getline(text, line);
  if (file.extension() == ".json") {
    std::getline(text, line);
    const std::size_t open = line.find(": \"");
    const std::size_t close = line.rfind('"');
    return open != std::string::npos && open + 3 <= close ? line.substr(open + 3, close - open - 3) : "";
  }
  const std::size_t start = line.find_first_not_of("# ");
  return start == std::string::npos ? "" : line.substr(start);
}

NameDocs entries_of(const std::filesystem::path& folder) {
  NameDocs names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".yaml" || extension == ".json") {
      names.push_back({entry.path().stem().string(), source_line(entry.path())});
    }
  }
  std::sort(names.begin(), names.end(), [](const NameDoc& a, const NameDoc& b) { return a.name < b.name; });
  return names;
}

double kib(Bytes bytes) { return static_cast<double>(bytes.count()) / 1024; }

std::string model_line(const std::string& name, const std::filesystem::path& configs) {
  const model::ModelSpec spec = model_named(name, configs);
  const model::KvSplit whole{1, 1, model::default_kv_dtype(spec)};
  const model::KvGeometry geometry = model::kv_geometry(spec);
  const double parameters = static_cast<double>(model::parameter_count(spec)) / 1e9;
  const double active = static_cast<double>(model::active_parameter_count(spec)) / 1e9;
  std::string line =
      fmt::format("{:>7.2f} B parameters{}  {:>3} layers  {:>7.1f} KiB of KV a token", parameters,
                  active < 0.99 * parameters ? fmt::format(" ({:>6.2f} B active)", active) : std::string(18, ' '),
                  spec.num_hidden_layers, kib(model::kv_bytes_per_token(geometry, whole)));
  const Bytes beyond = model::kv_bytes_per_token_beyond_windows(geometry, whole);
  if (model::window_bytes(geometry, whole) > Bytes(0)) line += fmt::format(", {:.1f} beyond its windows", kib(beyond));
  const Bytes fixed = model::fixed_bytes_per_sequence(geometry, whole);
  if (fixed > Bytes(0)) line += fmt::format(", {:.1f} MiB a sequence", static_cast<double>(fixed.count()) / (1 << 20));
  return line;
}

std::string gpu_line(const std::string& name, const std::filesystem::path& configs) {
  const model::GpuSpec gpu = gpu_named(name, configs).spec;
  std::string line = fmt::format("{:>6.2f} GiB  {:>5.2f} TB/s  {:>6.1f} TFLOP/s bf16",
                                 static_cast<double>(gpu.memory_bytes.count()) / (1LL << 30),
                                 gpu.memory_bandwidth_bytes_per_s / 1e12, gpu.bf16_flops_per_s / 1e12);
  if (gpu.fp8_flops_per_s > 0) line += fmt::format("  {:>6.1f} fp8", gpu.fp8_flops_per_s / 1e12);
  return line;
}

// Figures in place of the source; an entry that cannot be read keeps its line.
template <class Line>
NameDocs with_figures(NameDocs names, const std::filesystem::path& configs, const Line& line) {
  for (NameDoc& name : names) {
    try {
      name.doc = line(name.name, configs);
    } catch (const InputError& error) {
      name.doc = error.what();
    }
  }
  return names;
}

template <class Rows>
NameDocs docs_of(const Rows& rows) {
  NameDocs docs;
  for (const auto& row : rows) docs.push_back({std::string(row.name), std::string(row.doc)});
  return docs;
}

scenario::Vocabulary vocabulary(const std::filesystem::path& configs) {
  return {.models = entries_of(configs / "models"),
          .gpus = entries_of(configs / "gpus"),
          .trace_formats = docs_of(workload::trace_formats()),
          .arrival_processes = docs_of(workload::arrival_processes()),
          .length_distributions = docs_of(workload::length_distributions()),
          .max_tokens_rules = docs_of(workload::max_tokens_rules()),
          .schedulers = sched::schedulers(),
          .engine_presets = engine_presets(),
          .queue_orders = sched::queue_orders(),
          .routers = routers(),
          .strategies = kv::strategies(),
          .reservations = kv::reservations(),
          .placements = kv::placements(),
          .evictions = kv::evictions(),
          .cache_admissions = kv::cache_admissions(),
          .kv_dtypes = model::kv_element_types(),
          .preemption_modes = sched::preemption_modes(),
          .victims = sched::victims(),
          .cost_models = {{"roofline", "per kernel, from the constants of the GPU's entry"},
                          {"fixed", "every step takes cost.step"}}};
}

}  // namespace

std::vector<NameTable> name_tables(const std::filesystem::path& configs) {
  const scenario::Vocabulary v = vocabulary(configs);
  return {{"models", with_figures(v.models, configs, model_line)},
          {"gpus", with_figures(v.gpus, configs, gpu_line)},
          {"schedulers", v.schedulers},
          {"engine_presets", v.engine_presets},
          {"queue_orders", v.queue_orders},
          {"routers", v.routers},
          {"strategies", v.strategies},
          {"reservations", v.reservations},
          {"placements", v.placements},
          {"evictions", v.evictions},
          {"cache_admissions", v.cache_admissions},
          {"formats", v.trace_formats},
          {"arrival_processes", v.arrival_processes},
          {"length_distributions", v.length_distributions},
          {"max_tokens_rules", v.max_tokens_rules},
          {"kv_dtypes", v.kv_dtypes},
          {"overheads", model::overhead_presets()},
          {"preemption_modes", v.preemption_modes},
          {"victims", v.victims},
          {"cost_models", v.cost_models}};
}

scenario::Schema scenario_schema(const std::filesystem::path& configs) {
  return scenario::scenario_schema(vocabulary(configs));
}

scenario::Schema requests_schema(const std::filesystem::path& configs) {
  return scenario::requests_schema(vocabulary(configs));
}

}  // namespace blockyard::serving
