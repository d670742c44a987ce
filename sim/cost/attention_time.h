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
// sequences x KV heads < 0.8 x 2 SMs, the sequences as in the CUDA graph (num_splits_heuristic of its flash_api.cpp).
// Elsewhere one thread block reads all that one head keeps of a sequence: a stream. An SM holds as many of them at once
// as its shared memory has room for. They share the bandwidth, up to a rate that one has by itself, and the longest
// goes on alone when the others are done:
//
//   S = sequences x heads, A = min(S, what all SMs hold at once), c = mean context, b = bytes of a token and head
//   max(all bytes / bandwidth, S c b / (A rate)) + (longest - what it has read by then) b / rate
//   by then it has read c min(S / A, 1 + sequences / (2 A))
//
// Streams start in the order of the heads, all sequences of one before the next: the last stream of the longest
// sequence starts, wherever that one stands in the batch, half of a head's streams before the end on average. A stream
// that starts with the first of them has read as much as any.
class AttentionTime {
 public:
  // Without a `stage` the layers are those of the whole model.
  AttentionTime(const model::ModelSpec& spec, const model::GpuSpec& gpu, const Calibration& calibration,
                std::int64_t tp, model::ElementType kv_dtype, std::int64_t largest_graph = 0,
                double decode_slowdown = 0, std::optional<model::Stage> stage = {});

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
    double streams_at_once;        // that all SMs hold
    double mixed_decode_bytes;     // how many times a decode beside a chunk reads the KV of one without
  };

  [[nodiscard]] Seconds layer(const Group& group, const StepWork& work) const;
  [[nodiscard]] Seconds decode(const Group& group, const StepWork& work) const;
  [[nodiscard]] bool fills_gpu(const Group& group, std::int64_t sequences) const;
  struct Streams {
    double sequences;
    double heads;  // of each
    double kv_tokens;
    double longest;
  };
  // `reading`: all bytes at the bandwidth.
  [[nodiscard]] static Seconds by_streams(const Group& group, const Streams& streams, Seconds reading);
  [[nodiscard]] Seconds prefill(const Group& group, const StepWork& work) const;

  std::vector<Group> groups_;
  std::vector<double> flop_shares_;  // of a pair's FLOPs in all layers, by group; their sum is 1
  std::vector<double> byte_shares_;  // of a token's KV bytes, likewise
  GemmRoofline roofline_;
  AttentionForm form_;
  bool occupancy_;
  std::int64_t sm_count_;
  std::int64_t largest_graph_;
  double decode_s_per_byte_;  // own form, as the next
  double prefill_s_per_flop_;
  double prefill_s_per_byte_;
  double decode_slowdown_;
  Seconds decode_overhead_s_;
  Seconds prefill_overhead_s_;
  // Of decodes that are not split: no results to be put together. With that of a chunk no less than of decodes alone.
  Seconds whole_overhead_s_;
};

}  // namespace blockyard::cost
