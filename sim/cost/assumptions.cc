#include "sim/cost/assumptions.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/cost/kernels.h"

namespace blockyard::cost {
namespace {

using model::LayerGroup;
using model::LayerKind;

void add_weights(std::vector<std::string>& said, const model::ModelSpec& spec, const model::GpuSpec& gpu,
                 const Calibration& calibration) {
  const std::string format = spec.quantization ? spec.quantization->method : std::string(name_of(spec.dtype));
  switch (gemm_format(gpu, spec)) {
    case GemmFormat::plain:
      break;
    case GemmFormat::fp8:
      if (!calibration.fp8)
        said.push_back(
            fmt::format("{} weights, at the share of the fp8 peak that 16-bit GEMMs reach of theirs", format));
      break;
    case GemmFormat::int8:
      said.push_back(fmt::format("{} weights, at twice the rate of 16-bit GEMMs", format));
      break;
    case GemmFormat::converted:
      said.push_back(fmt::format("{} weights, converted to 16 bits in each GEMM at 0.9 of its rate", format));
      break;
  }
}

}  // namespace

std::vector<std::string> assumptions(const model::ModelSpec& spec, const model::GpuSpec& gpu,
                                     const Calibration& calibration) {
  std::vector<std::string> said;
  add_weights(said, spec, gpu, calibration);
  const std::vector<LayerGroup> groups = layer_groups(spec);
  const auto any = [&](const auto& holds) { return std::any_of(groups.begin(), groups.end(), holds); };
  if (any([](const LayerGroup& g) { return g.kind == LayerKind::sliding_window; }))
    said.emplace_back("windowed layers, as if the contexts of a batch were equal");
  if (any([](const LayerGroup& g) { return g.kind == LayerKind::chunked_attention; }))
    said.emplace_back("chunked attention, as windows that are always full");
  if (any([](const LayerGroup& g) { return g.latent && g.stride == 1; }))
    said.emplace_back("latent attention, from its FLOPs and bytes");
  if (any([](const LayerGroup& g) { return g.index_bytes > 0; }))
    said.emplace_back("attention by index, as if it read every token");
  if (any([](const LayerGroup& g) { return g.stride > 1; }))
    said.emplace_back("compressed attention, from the bytes that it keeps; its weights are not known and take no time");
  if (any([](const LayerGroup& g) { return g.kind == LayerKind::recurrent; }))
    said.emplace_back("recurrent layers, from their weights and the bytes of their state");
  const std::vector<model::MlpGroup> mlps = mlp_groups(spec);
  if (std::any_of(mlps.begin(), mlps.end(), [](const model::MlpGroup& g) { return g.is_moe(); }))
    said.emplace_back("experts, as GEMMs over the distinct ones that even routing is expected to touch");
  return said;
}

}  // namespace blockyard::cost
