#include "sim/workload/formats/bailian.h"

#include <unordered_map>
#include <utility>

#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/prompt_ids.h"

namespace blockyard::workload {
namespace {

class Bailian final : public RecordFormat {
 public:
  explicit Bailian(const ReaderOptions& options)
      : block_(options.hash_block > 0 ? options.hash_block : kBlockTokens),
        rule_(options.partial_ids == PartialIds::by_format ? PartialIds::ceil : options.partial_ids) {}

  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    batch.prefix_block = block_;
    TraceRow& row = batch.add();
    PromptIds ids(batch, row);
    bool timed = false;
    std::int64_t chat = kNone;
    std::int64_t parent = kNone;
    for_each_field(record, [&](const JsonField& field) {
      if (field.key == "hash_ids") {
        ids.read(field);
      } else if (field.key == "timestamp") {
        row.time_ns = time_of(field, kSeconds);
        timed = true;
      } else if (field.key == "input_length") {
        row.prompt_tokens = length_of(field);
      } else if (field.key == "output_length") {
        row.output_tokens = length_of(field);
      } else if (field.key == "chat_id") {
        chat = integer_of(field, kNone, INT64_MAX);
      } else if (field.key == "parent_chat_id") {
        if (!is_null(field)) parent = integer_of(field, kNone, INT64_MAX);
      } else if (field.key == "type") {
        row.category = batch.category(scalar_text(field));
      }
    });
    if (!timed) throw JsonFault{nullptr, "no key \"timestamp\""};
    ids.check_count("input_length", block_, rule_);
    row.session = session_of(chat, parent);
  }

 private:
  static constexpr std::int64_t kBlockTokens = 16;
  static constexpr int kSeconds = 9;
  static constexpr std::int64_t kNone = -1;

  std::uint32_t session_of(std::int64_t chat, std::int64_t parent) {
    const auto root = parent == kNone ? sessions_.end() : sessions_.find(parent);
    const std::uint32_t session = root == sessions_.end() ? ++count_ : root->second;
    if (chat != kNone) sessions_[chat] = session;
    return session;
  }

  Tokens block_;
  PartialIds rule_;
  std::unordered_map<std::int64_t, std::uint32_t> sessions_;  // by chat
  std::uint32_t count_ = 0;
};

}  // namespace

bool is_bailian(const Opening& opening) {
  return opening.has_keys({"chat_id", "timestamp", "input_length", "output_length"});
}

std::unique_ptr<RowReader> open_bailian(LineReader lines, const ReaderOptions& options) {
  return open_json(std::move(lines), std::make_unique<Bailian>(options));
}

}  // namespace blockyard::workload
