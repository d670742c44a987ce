// Attention of a step, all layers, on one GPU: closed forms over the sums of the batch, one for each group of like
// layers. O(groups), without powers but for AttentionForm::as_gemm with a finite exponent.
//
//   full     a decode reads all its KV; a chunk has n c + n^2 / 2 query-key pairs
//   window   a decode reads at most the window: n decodes min(their sum, n w), as if their contexts were equal; a
//            chunk's pairs end at the window. Chunks of a window likewise, with the whole chunk
//   latent   KV is read once for all heads; a decode works on the latent itself, d_k wide, a chunk on unfolded heads
//   state    a recurrence, or a compressor's buffer, is read and written once a sequence and step
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/cost/cost_model.h"
#include "sim/cost/kernels.h"
#include "sim/model/model_spec.h"
#include "sim/model/weights.h"

namespace blockyard::cost {

// FlashAttention-2 spreads the KV of one sequence over several SMs only where it can put the query heads of a KV head
// together (more than one of them, and no chunk in the batch), and where the batch alone does not fill the GPU:
// sequences x KV heads < 0.8 x 2 SMs (num_splits_heuristic of its flash_api.cpp). Elsewhere one SM reads all that one
// head keeps of a sequence, at the stream rate at most. As long as all read, they share the bandwidth evenly; the
// longest goes on alone:
//
//   streams x rate <= bandwidth   longest x bytes of a head / rate
//   else                          all bytes / bandwidth + (longest - what it has read by then) x bytes of a head / rate
//
// By then it has read as much as each of those that run at once: the mean context, or, of more streams than 2 an SM,
// their sum / (2 SMs).
class AttentionTime {
 public:
  // Without a `stage` the layers are those of the whole model.
  AttentionTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                std::int64_t tp, model::ElementType kv_dtype, double decode_slowdown = 0,
                std::optional<model::Stage> stage = {});

  [[nodiscard]] Seconds seconds(const StepWork& work) const;

  // Query-key pairs of a chunk of `fresh` tokens over a `context`, of a layer on average (by FLOPs where layers are
  // unlike), and the tokens whose KV it reads (by bytes). Full attention: n c + n^2 / 2, with the part of the GPU that
  // idles counted as work. FlashAttention-2 computes tiles of 64 query rows, each for the g query heads of one KV head:
  // U = kv heads x ceil(n g / 64) tiles, in waves of one tile an SM. The idle places of the last wave are charged the
  // context and half the rows of at most one wave: so a long lone prefill loses a wave at most, and splitting it gains
  // nothing. A chunk is looked at alone: several in one step share waves, which is left out.
  [[nodiscard]] double pairs(std::int64_t fresh, std::int64_t context) const;
  [[nodiscard]] std::int64_t kv_tokens(std::int64_t fresh, std::int64_t context) const;

 private:
  // Layers alike, on one GPU.
  struct Group {
    Group(const model::LayerGroup& group, const model::GpuSpec& gpu, const Calibration& calibration, std::int64_t tp,
          model::ElementType kv_dtype);

    [[nodiscard]] double pairs(std::int64_t fresh, std::int64_t context, bool occupancy, std::int64_t sm_count) const;
    [[nodiscard]] double reach(double tokens) const { return window > 0 && tokens > window ? window : tokens; }

    double layers;
    bool attends;
    bool latent;
    double window;  // tokens; 0 = all
    std::int64_t query_heads;
    std::int64_t kv_heads;
    double pairs_per_tile;  // rows of a tile over the query heads
    double wave_rows;       // rows that one tile an SM holds
    double decode_flops_per_pair;
    double flops_per_pair;  // of a chunk
    double kv_bytes_per_token;
    double query_bytes_per_token;  // q read and output written
    double state_bytes;            // of a sequence, read and written
    bool whole_streams;            // decodes without a chunk are not split over SMs
    double stream_s_per_token;     // one SM reading the KV of one head; 0 = no such limit
    double streams_at_once;        // 2 an SM
    double mixed_decode_bytes;     // how many times a decode beside a chunk reads the KV of one without
  };

  [[nodiscard]] Seconds layer(const Group& group, const StepWork& work) const;
  [[nodiscard]] Seconds decode(const Group& group, const StepWork& work) const;
  // Of `heads` streams a sequence, which together read for `reading`.
  [[nodiscard]] static Seconds streams(const Group& group, const StepWork& work, double heads, Seconds reading);
  [[nodiscard]] Seconds prefill(const Group& group, const StepWork& work) const;

  std::vector<Group> groups_;
  std::vector<double> flop_shares_;  // of a pair's FLOPs in all layers, by group; their sum is 1
  std::vector<double> byte_shares_;  // of a token's KV bytes, likewise
  GemmRoofline roofline_;
  AttentionForm form_;
  bool occupancy_;
  std::int64_t sm_count_;
  double decode_s_per_byte_;  // own form, as the next
  double prefill_s_per_flop_;
  double prefill_s_per_byte_;
  double decode_slowdown_;
  Seconds decode_overhead_s_;
  Seconds prefill_overhead_s_;
};

}  // namespace blockyard::cost
