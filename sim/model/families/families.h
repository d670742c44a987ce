// From a config.json to groups of layers, one function a kind of family. Each reads the fields that its architecture
// defines, with the defaults that the architecture's own code defines, and fills `layers`, `mlps` and the fields that
// describe the commonest layer. A value it does not know is a complaint, never a guess.
#pragma once

#include <span>

#include "sim/model/hf_fields.h"
#include "sim/model/model_spec.h"

namespace blockyard::model {

struct Architecture {
  const char* name;        // in `architectures`
  const char* model_type;  // in `model_type`
  void (*compile)(HfFields& fields, const Architecture& self, ModelSpec& spec);
};

[[nodiscard]] std::span<const Architecture> architectures();

void compile_llama(HfFields& fields, const Architecture& self, ModelSpec& spec);        // dense.cc
void compile_qwen(HfFields& fields, const Architecture& self, ModelSpec& spec);         // dense.cc
void compile_classic(HfFields& fields, const Architecture& self, ModelSpec& spec);      // classic.cc
void compile_falcon(HfFields& fields, const Architecture& self, ModelSpec& spec);       // classic.cc
void compile_chatglm(HfFields& fields, const Architecture& self, ModelSpec& spec);      // classic.cc
void compile_gemma(HfFields& fields, const Architecture& self, ModelSpec& spec);        // gemma.cc
void compile_gemma_n(HfFields& fields, const Architecture& self, ModelSpec& spec);      // gemma.cc
void compile_cohere(HfFields& fields, const Architecture& self, ModelSpec& spec);       // windows.cc
void compile_gpt_oss(HfFields& fields, const Architecture& self, ModelSpec& spec);      // windows.cc
void compile_llama4(HfFields& fields, const Architecture& self, ModelSpec& spec);       // windows.cc
void compile_mllama(HfFields& fields, const Architecture& self, ModelSpec& spec);       // windows.cc
void compile_mimo(HfFields& fields, const Architecture& self, ModelSpec& spec);         // windows.cc
void compile_step(HfFields& fields, const Architecture& self, ModelSpec& spec);         // windows.cc
void compile_experts(HfFields& fields, const Architecture& self, ModelSpec& spec);      // experts.cc
void compile_nas(HfFields& fields, const Architecture& self, ModelSpec& spec);          // nas.cc
void compile_latent(HfFields& fields, const Architecture& self, ModelSpec& spec);       // latent.cc
void compile_compressed(HfFields& fields, const Architecture& self, ModelSpec& spec);   // latent.cc
void compile_qwen_linear(HfFields& fields, const Architecture& self, ModelSpec& spec);  // linear.cc
void compile_kimi_linear(HfFields& fields, const Architecture& self, ModelSpec& spec);  // linear.cc
void compile_minimax(HfFields& fields, const Architecture& self, ModelSpec& spec);      // linear.cc
void compile_mamba(HfFields& fields, const Architecture& self, ModelSpec& spec);        // mamba.cc
void compile_jamba(HfFields& fields, const Architecture& self, ModelSpec& spec);        // mamba.cc
void compile_bamba(HfFields& fields, const Architecture& self, ModelSpec& spec);        // mamba.cc
void compile_falcon_h1(HfFields& fields, const Architecture& self, ModelSpec& spec);    // mamba.cc
void compile_nemotron_h(HfFields& fields, const Architecture& self, ModelSpec& spec);   // mamba.cc
void compile_zamba2(HfFields& fields, const Architecture& self, ModelSpec& spec);       // mamba.cc

}  // namespace blockyard::model
