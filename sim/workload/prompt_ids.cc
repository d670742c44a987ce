#include "sim/workload/prompt_ids.h"

#include <fmt/format.h>

#include <string>

#include "sim/workload/numbers.h"

namespace blockyard::workload {

PromptIds::PromptIds(RowBatch& batch, TraceRow& row) : batch_(batch), row_(row) {
  row_.first_prefix_id = batch_.prefix_ids.size();
}

bool PromptIds::begin(const JsonField& field) {
  if (is_null(field)) return false;
  if (at_ != nullptr) throw JsonFault{field.at, fmt::format("{}: given twice", field.key)};
  at_ = field.at;
  key_ = field.key;
  return true;
}

void PromptIds::read(const JsonField& field) {
  if (!begin(field)) return;
  if (!batch_.keep_prefix_ids) {
    row_.prefix_ids = static_cast<std::int32_t>(count_elements(field));
    return;
  }
  for_each_element(field, [&](const JsonField& element) {
    std::int64_t id = 0;
    if (element.value.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id > kLargestPrefixId) {
      throw JsonFault{field.at, fmt::format("{}: found {}, expected whole numbers from 0 to {}", field.key,
                                            quoted(scalar_text(element)), kLargestPrefixId)};
    }
    add(id);
  });
}

void PromptIds::check_count(std::string_view prompt_key, Tokens block, PartialIds rule) const {
  const std::int64_t prompt = row_.prompt_tokens;
  if (at_ == nullptr || prompt < 0) return;
  const std::int64_t count = row_.prefix_ids;
  const std::int64_t begun = blocks_for(Tokens(prompt), block).count();
  const std::int64_t full = prompt / block.count();
  if (count == begun && rule != PartialIds::floor) return;
  if (count == full && rule != PartialIds::ceil) return;
  std::string expected = fmt::format("{}", rule == PartialIds::floor ? full : begun);
  if (rule == PartialIds::either && begun != full) expected = fmt::format("{} or {}", begun, full);
  std::string hint;
  if (count == full && count != begun) {
    hint = "; without an id for the partial last block it is read with partial_ids: floor";
  } else if (count > 0 && prompt > 0) {
    for (const std::int64_t other : {16, 32, 64, 128, 256, 512, 1024}) {
      if (blocks_for(Tokens(prompt), Tokens(other)).count() != count) continue;
      hint = fmt::format("; blocks of {} tokens would fit: hash_block: {}", other, other);
      break;
    }
  }
  throw JsonFault{at_, fmt::format("{}: found {} ids, expected {} for {} {} in blocks of {} tokens{}", key_, count,
                                   expected, prompt_key, prompt, block.count(), hint)};
}

}  // namespace blockyard::workload
