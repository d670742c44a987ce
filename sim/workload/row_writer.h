// Requests as rows of an output format: one of the layouts below, with room for a set of fields.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/content.h"
#include "sim/workload/block_names.h"
#include "sim/workload/content_store.h"
#include "sim/workload/keyed_ids.h"
#include "sim/workload/request_fields.h"
#include "sim/workload/trace.h"

namespace blockyard::workload {

enum class RowLayout : std::uint8_t { blockyard_csv, blockyard_jsonl, mooncake, vidur };

struct RowForm {
  RowLayout layout;
  FieldSet says;  // the fields that it keeps
  Tokens block;   // tokens of an id; 0 = as the trace has it
};

class RowWriter {
 public:
  // `names`, if not nullptr, replaces ids, sessions, tenants and prefixes. `read`: the report of the trace behind the
  // requests, for the size of its blocks and the names of categories.
  RowWriter(const RowForm& form, const KeyedIds* names, const ContentStore& contents, const ReadReport& read)
      : form_(form), names_(names), contents_(contents), read_(read) {}

  void header(fmt::memory_buffer& out) const;
  void row(fmt::memory_buffer& out, Request request);

 private:
  void csv_row(fmt::memory_buffer& out, const Request& request) const;
  void own_json_row(fmt::memory_buffer& out, const Request& request);
  void mooncake_row(fmt::memory_buffer& out, const Request& request);
  void append_ids(fmt::memory_buffer& out, const Request& request);
  [[nodiscard]] std::string category_of(const Request& request) const;
  // The trace says how large its blocks are in its first rows.
  [[nodiscard]] Tokens block() const { return form_.block == Tokens(0) ? Tokens(read_.hash_block) : form_.block; }

  RowForm form_;
  const KeyedIds* names_;
  const ContentStore& contents_;
  const ReadReport& read_;
  std::optional<BlockNames> blocks_;
  Content content_;
  std::vector<std::int64_t> ids_;
};

}  // namespace blockyard::workload
