#include "sim/cost/stage_time.h"

#include "sim/base/check.h"

namespace blockyard::cost {

StageTime::StageTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                     const RooflineOptions& o, const model::Stage& stage)
    : layer_time_(spec, gpu, calibration, o.parallelism, o.largest_graph, stage),
      attention_(spec, gpu, calibration, o.parallelism.tensor, o.kv_dtype, o.largest_graph, o.attention_slowdown,
                 stage),
      samples_(stage.samples),
      layers_(o.table_tokens),
      head_(stage.samples ? o.table_tokens : 0) {
  CHECK_LAW(o.table_tokens >= 0, "table_tokens {}", o.table_tokens);
}

}  // namespace blockyard::cost
