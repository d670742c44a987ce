// quantization_config of a config.json, or the hf_quant_config.json that ModelOpt writes beside it -> how the weights
// are stored, and the KV format that the checkpoint asks for. Known: gptq, awq, auto-round, fp8, fbgemm_fp8, mxfp4,
// bitsandbytes, compressed-tensors, modelopt, experts_int8. Any other is a complaint.
#pragma once

#include "sim/model/hf_fields.h"
#include "sim/model/model_spec.h"

namespace blockyard::model {

void read_quantization(HfFields& fields, ModelSpec& spec);
// `config` is the whole of a hf_quant_config.json.
void read_modelopt(HfFields& config, ModelSpec& spec);

}  // namespace blockyard::model
