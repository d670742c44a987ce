#include "sim/serving/hardware.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/model/hf_config.h"
#include "sim/scenario/hardware_keys.h"
#include "sim/scenario/load.h"

namespace blockyard::serving {
namespace {

using scenario::Document;

namespace fs = std::filesystem;

// An entry is a YAML, or (models) a config.json cut to the fields that count.
fs::path entry_of(const fs::path& folder, const std::string& name) {
  const fs::path json = folder / (name + ".json");
  return fs::exists(json) ? json : folder / (name + ".yaml");
}

// A key that names an entry of a folder of configs, or a file.
fs::path entry_file(const Document& scenario, std::string_view key, const fs::path& folder) {
  if (scenario.is(key, scenario::Kind::file)) return scenario.file(key);
  return entry_of(folder, scenario.text(key));
}

// The same from the command line: a path if it looks like one.
fs::path named_file(const std::string& text, const fs::path& folder, const char* what) {
  const std::string extension = fs::path(text).extension().string();
  const bool path =
      text.find('/') != std::string::npos || extension == ".yaml" || extension == ".json" || extension == ".yml";
  if (path) {
    if (!fs::is_regular_file(text))
      throw InputError(Place{text, 0, 0}, fs::exists(text) ? "no regular file" : "no such file");
    return text;
  }
  const fs::path file = entry_of(folder, text);
  if (!text.empty() && fs::exists(file)) return file;
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.push_back(entry.path().stem().string());
  throw InputError(Place{std::string("--") + what, 0, 0},
                   fmt::format("no {} \"{}\"{} (`blockyard list {}s` names them; a file needs a path or its extension)",
                               what, text, did_you_mean(text, names), what));
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) throw InputError(Place{path.string()}, "cannot be read");
  return text.str();
}

model::ModelSpec bind_model(const Document& d, const std::string& name) {
  model::ModelSpec m;
  m.name = name;
  m.source = d.text("source");
  m.num_hidden_layers = d.integer("num_hidden_layers");
  m.hidden_size = d.integer("hidden_size");
  m.intermediate_size = d.integer("intermediate_size");
  m.num_attention_heads = d.integer("num_attention_heads");
  m.num_key_value_heads = d.integer("num_key_value_heads");
  m.head_dim = d.integer("head_dim");
  m.vocab_size = d.integer("vocab_size");
  m.max_position_embeddings = d.tokens("max_position_embeddings").count();
  if (!d.is_word("sliding_window", "none")) m.sliding_window = d.tokens("sliding_window").count();
  m.learned_position_embeddings = d.integer("learned_position_embeddings");
  m.num_experts = d.integer("num_experts");
  m.experts_per_token = d.integer("experts_per_token");
  m.tie_word_embeddings = d.boolean("tie_word_embeddings");
  m.gated_mlp = d.boolean("gated_mlp");
  m.attention_bias = d.boolean("attention_bias");
  m.attention_output_bias = d.boolean("attention_output_bias");
  m.mlp_bias = d.boolean("mlp_bias");
  m.norm_bias = d.boolean("norm_bias");
  m.qk_norm = d.boolean("qk_norm");
  m.dtype = *model::element_type(d.choice("dtype"));
  return m;
}

std::map<std::int64_t, cost::AllReduce> bind_all_reduce(const Document& d, const std::string& section,
                                                        Diagnostics& errors) {
  std::map<std::int64_t, cost::AllReduce> table;
  for (const std::int64_t gpus : {2, 4, 8}) {
    const std::string inner = section + std::to_string(gpus);
    if (!d.is_set(inner)) continue;
    cost::AllReduce& entry = table[gpus];
    entry.latency_s = to_seconds(d.time(inner + ".latency"));
    entry.bus_bandwidth_bytes_per_s = d.bandwidth(inner + ".bus_bandwidth");
    entry.one_shot_bytes = static_cast<double>(d.bytes(inner + ".one_shot_limit").count());
    if (entry.one_shot_bytes == 0) continue;
    if (!d.has_value(inner + ".one_shot_latency") || !d.has_value(inner + ".one_shot_bandwidth")) {
      errors.add(d.place(inner + ".one_shot_limit"),
                 inner + ".one_shot_limit: it needs one_shot_latency and one_shot_bandwidth beside it");
      continue;
    }
    entry.one_shot_latency_s = to_seconds(d.time(inner + ".one_shot_latency"));
    entry.one_shot_bytes_per_s = d.bandwidth(inner + ".one_shot_bandwidth");
  }
  return table;
}

cost::Calibration bind_calibration(const Document& d) {
  cost::Calibration c;
  const std::string section = "calibration.";
  if (!d.is_set("calibration")) return c;
  const auto real = [&](const std::string& key, double& value) {
    if (d.has_value(section + key) && d.is(section + key, scenario::Kind::real)) value = d.real(section + key);
  };
  const auto time = [&](const std::string& key, Seconds& value) {
    if (d.has_value(section + key)) value = to_seconds(d.time(section + key));
  };
  c.source = d.text(section + "source");
  c.error = d.text(section + "error");
  c.generic = d.boolean(section + "generic");
  real("compute_efficiency", c.compute_efficiency);
  real("memory_efficiency", c.memory_efficiency);
  time("kernel_overhead", c.kernel_overhead_s);
  c.soft_max_exponent = cost::kMaxForm;
  real("soft_max_exponent", c.soft_max_exponent);
  c.tile_rounding = d.boolean(section + "tile_rounding");
  if (d.is_set(section + "fp8")) {
    c.fp8.emplace();
    real("fp8.compute_efficiency", c.fp8->compute_efficiency);
    real("fp8.memory_efficiency", c.fp8->memory_efficiency);
    time("fp8.kernel_overhead", c.fp8->kernel_overhead_s);
  }
  c.attention_form =
      d.choice(section + "attention_form") == "own" ? cost::AttentionForm::own : cost::AttentionForm::as_gemm;
  real("decode_memory_efficiency", c.decode_memory_efficiency);
  time("decode_overhead", c.decode_overhead_s);
  real("prefill_compute_efficiency", c.prefill_compute_efficiency);
  c.prefill_memory_efficiency = 0;
  real("prefill_memory_efficiency", c.prefill_memory_efficiency);
  time("prefill_overhead", c.prefill_overhead_s);
  c.elementwise_form = d.choice(section + "elementwise_form") == "fused" ? cost::ElementwiseForm::fused
                                                                         : cost::ElementwiseForm::separate;
  time("elementwise_overhead", c.elementwise_overhead_s);
  time("sampler_overhead", c.sampler_overhead_s);
  c.prefill_occupancy = d.boolean(section + "prefill_occupancy");
  c.mixed_decode_factor = 0;
  real("mixed_decode_factor", c.mixed_decode_factor);
  if (!d.is_word(section + "stream_bandwidth", "none")) {
    c.stream_bytes_per_s = d.bandwidth(section + "stream_bandwidth");
  }
  Diagnostics errors;
  c.all_reduce = bind_all_reduce(d, section + "all_reduce.", errors);
  c.all_reduce_eager = bind_all_reduce(d, section + "all_reduce_eager.", errors);
  errors.throw_if_any();
  return c;
}

}  // namespace

model::ModelSpec load_model_file(const fs::path& file) {
  const std::string name = file.stem().string();
  if (file.extension() == ".json") {
    model::ModelSpec spec = model::model_from_hf_json(read_file(file), name, file.string());
    const fs::path quantization = file.parent_path() / "hf_quant_config.json";
    if (fs::is_regular_file(quantization)) {
      model::add_hf_quant_config(read_file(quantization), quantization.string(), spec);
    }
    return spec;
  }
  const Document entry = scenario::load(file, scenario::model_schema(model::element_types()));
  model::ModelSpec spec = bind_model(entry, name);
  Diagnostics errors;
  model::check(spec, Place{file.string()}, errors);
  errors.throw_if_any();
  return spec;
}

namespace {

GpuEntry read_gpu(const fs::path& file) {
  const Document entry = scenario::load(file, scenario::gpu_schema());
  GpuEntry gpu;
  gpu.spec.name = file.stem().string();
  gpu.spec.source = entry.text("source");
  gpu.spec.memory_bytes = entry.bytes("memory");
  gpu.spec.memory_bandwidth_bytes_per_s = entry.bandwidth("memory_bandwidth");
  gpu.spec.bf16_flops_per_s = entry.flops("bf16_flops");
  if (!entry.is_word("fp8_flops", "none")) gpu.spec.fp8_flops_per_s = entry.flops("fp8_flops");
  gpu.spec.sm_count = entry.integer("sm_count");
  gpu.spec.shared_memory_per_sm = entry.bytes("shared_memory_per_sm");
  gpu.spec.attention_kernel = entry.choice("attention_kernel") == "flash_attention_3"
                                  ? model::AttentionKernel::flash_attention_3
                                  : model::AttentionKernel::flash_attention_2;
  if (!entry.is_word("gpu_link", "none")) gpu.spec.gpu_link_bytes_per_s = entry.bandwidth("gpu_link");
  gpu.spec.pcie_bytes_per_s = entry.bandwidth("pcie");
  gpu.calibration = bind_calibration(entry);
  return gpu;
}

}  // namespace

model::ModelSpec load_model(const Document& scenario, const fs::path& configs) {
  return load_model_file(entry_file(scenario, "model", configs / "models"));
}

GpuEntry load_gpu(const Document& scenario, const fs::path& configs) {
  return read_gpu(entry_file(scenario, "hardware.gpu", configs / "gpus"));
}

model::ModelSpec model_named(const std::string& name_or_file, const fs::path& configs) {
  return load_model_file(named_file(name_or_file, configs / "models", "model"));
}

GpuEntry gpu_named(const std::string& name_or_file, const fs::path& configs) {
  return read_gpu(named_file(name_or_file, configs / "gpus", "gpu"));
}

namespace {

// "" if the constants of `file` were fitted to a server like this one, as far as the file says.
std::string fitted_elsewhere(const Document& file, const std::string& gpu, const Server& here) {
  const bool other_model = file.has_value("model") && file.text("model") != here.model;
  const bool other_gpu = file.has_value("gpu") && file.text("gpu") != gpu;
  const bool other_count = file.has_value("gpus") && file.integer("gpus") != here.gpus;
  if (!other_model && !other_gpu && !other_count) return "";
  return fmt::format("; not of {} on {} x {}, where nobody has seen the error", here.model, here.gpus, gpu);
}

// Which of the constants that a file gives the scenario has otherwise, in words.
std::string overruled(const std::vector<const cost::ConstantDoc*>& given, cost::Constants by_file,
                      cost::Constants in_force) {
  std::vector<std::string> keys;
  for (const cost::ConstantDoc* c : given) {
    if (c->of(by_file) != c->of(in_force)) keys.push_back(fmt::format("cost.{}", c->name));
  }
  return keys.empty() ? "" : fmt::format("; with {} of the scenario in place of the file's", fmt::join(keys, ", "));
}

}  // namespace

bool overrules_calibration(const Document& scenario, std::string_view constant) {
  constexpr std::array<std::string_view, 4> kKeys{"host_time", "host_sequence", "host_rank", "front_end"};
  return std::ranges::find(kKeys, constant) != kKeys.end() && scenario.is_set("cost." + std::string(constant));
}

cost::Constants load_constants(const Document& scenario, const GpuEntry& gpu, const Server& server) {
  cost::Constants constants{gpu.calibration, {}, 0};
  const bool from_file = scenario.is("cost.calibration", scenario::Kind::file);
  std::vector<const cost::ConstantDoc*> given;  // by the file
  if (from_file) {
    NameDocs shares;
    NameDocs times;
    for (const cost::ConstantDoc& c : cost::constant_docs()) {
      (c.kind == cost::ConstantKind::share ? shares : times).push_back({std::string(c.name), std::string(c.doc)});
    }
    const Document file =
        scenario::load(scenario.file("cost.calibration"), scenario::calibration_schema(shares, times));
    for (const cost::ConstantDoc& c : cost::constant_docs()) {
      if (!file.has_value(c.name)) continue;
      given.push_back(&c);
      c.of(constants) = c.kind == cost::ConstantKind::share ? file.real(c.name) : to_seconds(file.time(c.name));
    }
    constants.calibration.source = file.text("source") + "; the others: " + gpu.calibration.source;
    constants.calibration.error = file.text("error") + fitted_elsewhere(file, gpu.spec.name, server);
    constants.calibration.generic = false;
  }
  const cost::Constants by_file = constants;
  const auto host = [&](const char* key, Seconds& value) {
    if (scenario.is_set(key) || !from_file) value = to_seconds(scenario.time(key));
  };
  host("cost.host_time", constants.engine.per_step_s);
  host("cost.host_sequence", constants.engine.per_sequence_s);
  host("cost.host_rank", constants.engine.per_rank_s);
  if (scenario.is_set("cost.front_end") || !from_file) {
    constants.front_end_s = scenario.is("cost.front_end", scenario::Kind::time)
                                ? to_seconds(scenario.time("cost.front_end"))
                            : scenario.is_word("cost.front_end", "http") ? cost::kHttpFrontEnd
                                                                         : 0;
  }
  constants.calibration.error += overruled(given, by_file, constants);
  return constants;
}

}  // namespace blockyard::serving
