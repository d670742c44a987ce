#include "sim/cost/constants.h"

#include <array>

namespace blockyard::cost {
namespace {

constexpr std::array kConstants{
    ConstantDoc{"compute_efficiency", ConstantKind::share, 0.1, 1.5, "of the peak FLOP/s that a GEMM reaches",
                [](Constants& c) -> double& { return c.calibration.compute_efficiency; }},
    ConstantDoc{"memory_efficiency", ConstantKind::share, 0.1, 1.5, "of the peak bandwidth that a GEMM reaches",
                [](Constants& c) -> double& { return c.calibration.memory_efficiency; }},
    ConstantDoc{"kernel_overhead", ConstantKind::time, 0, 5e-05, "fixed time of a kernel",
                [](Constants& c) -> double& { return c.calibration.kernel_overhead_s; }},
    ConstantDoc{"decode_memory_efficiency", ConstantKind::share, 0.1, 1.5,
                "of the peak bandwidth that decode attention reaches",
                [](Constants& c) -> double& { return c.calibration.decode_memory_efficiency; }},
    ConstantDoc{"decode_overhead", ConstantKind::time, 0, 0.0001, "fixed time of decode attention",
                [](Constants& c) -> double& { return c.calibration.decode_overhead_s; }},
    ConstantDoc{"prefill_compute_efficiency", ConstantKind::share, 0.05, 1.5,
                "of the peak FLOP/s that prefill attention reaches",
                [](Constants& c) -> double& { return c.calibration.prefill_compute_efficiency; }},
    ConstantDoc{"prefill_overhead", ConstantKind::time, 0, 0.0001, "fixed time of prefill attention",
                [](Constants& c) -> double& { return c.calibration.prefill_overhead_s; }},
    ConstantDoc{"elementwise_overhead", ConstantKind::time, 0, 5e-05, "fixed time of a fused elementwise kernel",
                [](Constants& c) -> double& { return c.calibration.elementwise_overhead_s; }},
    ConstantDoc{"sampler_overhead", ConstantKind::time, 0, 0.01, "fixed time of the sampler",
                [](Constants& c) -> double& { return c.calibration.sampler_overhead_s; }},
    ConstantDoc{"host_time", ConstantKind::time, 0, 0.02, "host time of a step",
                [](Constants& c) -> double& { return c.engine.per_step_s; }},
    ConstantDoc{"host_sequence", ConstantKind::time, 0, 0.001, "host time of each sequence of a step",
                [](Constants& c) -> double& { return c.engine.per_sequence_s; }},
    ConstantDoc{"host_rank", ConstantKind::time, 0, 0.01, "host time of a step for each doubling of the ranks",
                [](Constants& c) -> double& { return c.engine.per_rank_s; }},
    ConstantDoc{"front_end", ConstantKind::time, 0, 1, "between a client and the engine, a request",
                [](Constants& c) -> double& { return c.front_end_s; }},
};

}  // namespace

std::span<const ConstantDoc> constant_docs() { return kConstants; }

}  // namespace blockyard::cost
