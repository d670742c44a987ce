// One GPU, as far as memory and time depend on it. Rates are dense peaks as published (no sparsity), links per
// direction; what a kernel reaches of them is calibration and stands in cost/.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"

namespace blockyard::model {

// The attention kernels that serving engines pick for it: FlashAttention-2 up to Ampere, Ada and consumer Blackwell, 3
// on Hopper and later. The two differ in how a small chunk, and a decode beside a chunk, use the GPU.
enum class AttentionKernel { flash_attention_2, flash_attention_3 };

struct GpuSpec {
  std::string name;
  std::string source;

  Bytes memory_bytes;                       // as the driver reports it, less than the label
  double memory_bandwidth_bytes_per_s = 0;  // peak
  double bf16_flops_per_s = 0;
  double fp8_flops_per_s = 0;  // 0 = none
  std::int64_t sm_count = 0;
  Bytes shared_memory_per_sm;  // of it depends how many thread blocks of a kernel an SM holds at once
  AttentionKernel attention_kernel = AttentionKernel::flash_attention_2;
  double gpu_link_bytes_per_s = 0;  // NVLink; 0 = none, GPUs talk over PCIe
  double pcie_bytes_per_s = 0;
};

// Values that cannot be, all of them, at `place`.
void check(const GpuSpec& gpu, const Place& place, Diagnostics& diagnostics);

}  // namespace blockyard::model
