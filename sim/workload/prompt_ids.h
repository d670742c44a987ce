// The ids of a prompt's blocks under one key of a JSON record: read into the batch, and their count held against the
// prompt. null is no ids; an empty list is ids, of which there are none.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/workload/json_fields.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

// Ids become token ids: this many, times the tokens a block, stay well within 64 bits.
inline constexpr std::int64_t kLargestPrefixId = 1'000'000'000'000;

class PromptIds {
 public:
  // The ids of `row` are those read from here on.
  PromptIds(RowBatch& batch, TraceRow& row);

  // Whole numbers from 0 to kLargestPrefixId; only counted where the batch does not keep them.
  void read(const JsonField& field);
  // Each element through `id_of(const JsonField&)`, which throws JsonFault.
  template <class IdOf>
  void read_each(const JsonField& field, const IdOf& id_of) {
    if (!begin(field)) return;
    for_each_element(field, [&](const JsonField& element) { add(id_of(element)); });
  }
  void add(std::int64_t id) {
    ++row_.prefix_ids;  // a record of 256 MiB holds fewer than 2^31
    if (batch_.keep_prefix_ids) batch_.prefix_ids.push_back(id);
  }

  [[nodiscard]] const char* at() const { return at_; }  // where they stand; nullptr: there were none
  // Throws JsonFault, which says the counts expected, and the option that would make this one right.
  void check_count(std::string_view prompt_key, Tokens block, PartialIds rule) const;

 private:
  bool begin(const JsonField& field);

  RowBatch& batch_;
  TraceRow& row_;
  const char* at_ = nullptr;
  std::string_view key_;
};

}  // namespace blockyard::workload
