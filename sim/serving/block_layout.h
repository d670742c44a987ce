// How the layers of the served model share the blocks of paged memory: the engine's layout (model/kv_layout.h), the one
// that `size` prints, as the block tables of the allocator.
//
// With the hybrid manager every kind of layers has tables of its own; without it, windowed layers count as full ones,
// unless all layers are windowed alike. Where the allocator cannot keep unlike tables (TableUse::one: forks, swaps, an
// eviction policy, tiers, the V0 engine), every token stays until its sequence ends, and recurrent state is not
// counted. Under the engine's own prefix cache (TableUse::named) so for what it has no names for: recurrent state, and
// kinds of layers whose blocks have unlike numbers of tokens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/kv/allocator/paged_hybrid.h"
#include "sim/model/kv_layout.h"
#include "sim/model/model_spec.h"

namespace blockyard::serving {

enum class TableUse { one, counted, named };

struct BlockLayout {
  model::KvLayout layout;
  model::LayoutOptions options;
  std::vector<kv::BlockTables> tables;  // empty: one table, in which every token stays
  Tokens block_size;
  std::optional<Bytes> block_bytes;  // of one GPU; absent: block_size tokens of every layer
  Bytes piece_bytes;                 // of one GPU, with tables: what the ledger counts in
  std::vector<std::string> notes;    // what of it the reader of a report should know

  [[nodiscard]] std::int64_t block_pieces() const {
    return tables.empty() ? 0 : block_bytes->count() / piece_bytes.count();
  }
};

[[nodiscard]] BlockLayout block_layout(const model::ModelSpec& spec, const model::Stage& stage,
                                       const model::LayoutOptions& options, Tokens max_model_len, TableUse use);

// What a pool of so many blocks comes to, in the engine's words; "" with one table.
[[nodiscard]] std::string describe(const BlockLayout& layout, Blocks pool, Tokens max_model_len);

}  // namespace blockyard::serving
