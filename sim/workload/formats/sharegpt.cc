#include "sim/workload/formats/sharegpt.h"

#include <array>
#include <utility>

#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/text_length.h"

namespace blockyard::workload {
namespace {

class ShareGpt final : public RecordFormat {
 public:
  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    TraceRow& row = batch.add();
    row.timed = false;
    std::array<std::int64_t, 2> turns{};
    std::size_t count = 0;
    for_each_field(record, [&](const JsonField& field) {
      if (field.key != "conversations" && field.key != "conversation" && field.key != "messages") return;
      if (is_null(field)) return;
      for_each_element(field, [&](const JsonField& element) {
        if (count == turns.size()) return;
        turns[count++] = length_of_turn(element);
      });
    });
    row.prompt_tokens = turns[0];
    row.output_tokens = turns[1];
    if (turns[0] == 0 || turns[1] == 0) row.kind = RowKind::not_a_request;
  }

 private:
  static std::int64_t length_of_turn(const JsonField& element) {
    std::int64_t tokens = 0;
    simdjson::ondemand::object turn = object_of(element);
    for_each_field(turn, [&](const JsonField& field) {
      if (field.key == "value" || field.key == "content") tokens = is_null(field) ? 0 : tokens_of_text(field);
    });
    return tokens;
  }
};

}  // namespace

bool is_sharegpt(const Opening& opening) {
  return opening.has_key("conversations") || opening.has_keys({"conversation_id", "conversation"});
}

std::unique_ptr<RowReader> open_sharegpt(LineReader lines, const ReaderOptions& /*options*/) {
  constexpr std::size_t kLongestConversation = std::size_t{64} << 20;
  return open_json(std::move(lines), std::make_unique<ShareGpt>(), kLongestConversation);
}

}  // namespace blockyard::workload
