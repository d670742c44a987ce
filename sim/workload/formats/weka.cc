#include "sim/workload/formats/weka.h"

#include <utility>

#include "sim/workload/block_ids.h"
#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"
#include "sim/workload/prompt_ids.h"

namespace blockyard::workload {
namespace {

class Weka final : public RecordFormat {
 public:
  explicit Weka(const ReaderOptions& options)
      : block_(options.hash_block > 0 ? options.hash_block : kBlockTokens),
        rule_(options.partial_ids == PartialIds::by_format ? PartialIds::either : options.partial_ids) {}

  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    batch.prefix_block = block_;
    const std::size_t first = batch.size;
    std::uint32_t session = 0;
    bool many = false;
    TraceRow alone;
    PromptIds ids(batch, alone);
    bool timed = false;
    for_each_field(record, [&](const JsonField& field) {
      if (field.key == "requests" || field.key == "turns") {
        many = true;
        for_each_element(field, [&](const JsonField& element) { request(element, batch); });
      } else if (field.key == "id" || field.key == "conversation_id" || field.key == "session_id") {
        session = sessions_.of(scalar_text(field));
      } else {
        read(field, alone, batch, ids, timed);
      }
    });
    if (!many) {
      finish(ids, timed);
      batch.add() = alone;
    }
    for (std::size_t i = first; i < batch.size; ++i) place_in_session(batch.rows[i], session, batch);
  }

 private:
  static constexpr std::int64_t kBlockTokens = 64;
  static constexpr int kSeconds = 9;

  void request(const JsonField& element, RowBatch& batch) {
    simdjson::ondemand::object object = object_of(element);
    TraceRow row;
    PromptIds ids(batch, row);
    bool timed = false;
    for_each_field(object, [&](const JsonField& field) { read(field, row, batch, ids, timed); });
    finish(ids, timed);
    batch.add() = row;
  }

  static void read(const JsonField& field, TraceRow& row, RowBatch& batch, PromptIds& ids, bool& timed) {
    const std::string_view key = field.key;
    if (key == "hash_ids") {
      ids.read(field);
    } else if (key == "t" || key == "request_arrival_delta_s") {
      row.time_ns = time_of(field, kSeconds);
      timed = true;
    } else if (key == "in" || key == "input_length" || key == "input_tokens") {
      row.prompt_tokens = length_of(field);
    } else if (key == "out" || key == "output_length" || key == "output_tokens") {
      row.output_tokens = length_of(field);
    } else if (key == "think_time_s") {
      if (!is_null(field)) row.delay_ns = time_of(field, kSeconds);
    } else if (key == "type" && std::string_view(field.value.raw_json_token()).starts_with('"')) {
      row.category = batch.category(scalar_text(field));
    }
  }

  void finish(const PromptIds& ids, bool timed) const {
    if (!timed) throw JsonFault{nullptr, "no key \"t\""};
    ids.check_count("in", block_, rule_);
  }

  void place_in_session(TraceRow& row, std::uint32_t session, RowBatch& batch) {
    row.session = session;
    if (!batch.keep_prefix_ids) return;
    for (std::int32_t i = 0; i < row.prefix_ids; ++i) {
      std::int64_t& id = batch.prefix_ids[row.first_prefix_id + static_cast<std::size_t>(i)];
      id = ids_.of(static_cast<std::uint64_t>(id), session);
    }
  }

  Tokens block_;
  PartialIds rule_;
  NameIds sessions_;
  BlockIds ids_;
};

}  // namespace

bool is_weka(const Opening& opening) {
  return opening.has_keys({"t", "in", "out"}) || opening.has_key("request_arrival_delta_s") ||
         (opening.has_keys({"id", "requests"}) && !opening.has_key("sub_requests"));
}

std::unique_ptr<RowReader> open_weka(LineReader lines, const ReaderOptions& options) {
  constexpr std::size_t kLongestConversation = std::size_t{256} << 20;
  return open_json(std::move(lines), std::make_unique<Weka>(options), kLongestConversation);
}

}  // namespace blockyard::workload
