#include "sim/workload/formats/weka.h"

#include <unordered_set>
#include <utility>

#include "sim/workload/block_ids.h"
#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"

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
    Found found;
    alone.first_prefix_id = batch.prefix_ids.size();
    for_each_field(record, [&](const JsonField& field) {
      if (field.key == "requests" || field.key == "turns") {
        many = true;
        for_each_element(field, [&](const JsonField& element) { request(element, batch); });
      } else if (field.key == "id" || field.key == "conversation_id" || field.key == "session_id") {
        session = sessions_.of(scalar_text(field));
      } else {
        read(field, alone, batch, found);
      }
    });
    if (!many) {
      finish(alone, found);
      batch.add() = alone;
    }
    for (std::size_t i = first; i < batch.size; ++i) place_in_session(batch.rows[i], session, batch);
  }

 private:
  static constexpr std::int64_t kBlockTokens = 64;
  static constexpr int kSeconds = 9;

  struct Found {
    bool timed = false;
    const char* ids_at = nullptr;
  };

  void request(const JsonField& element, RowBatch& batch) {
    simdjson::ondemand::object object = object_of(element);
    TraceRow row;
    Found found;
    row.first_prefix_id = batch.prefix_ids.size();
    for_each_field(object, [&](const JsonField& field) { read(field, row, batch, found); });
    finish(row, found);
    batch.add() = row;
  }

  static void read(const JsonField& field, TraceRow& row, RowBatch& batch, Found& found) {
    const std::string_view key = field.key;
    if (key == "hash_ids") {
      if (is_null(field)) return;
      found.ids_at = field.at;
      row.prefix_ids =
          static_cast<std::int32_t>(read_block_ids(field, batch.keep_prefix_ids ? &batch.prefix_ids : nullptr));
    } else if (key == "t" || key == "request_arrival_delta_s") {
      row.time_ns = time_of(field, kSeconds);
      found.timed = true;
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

  void finish(TraceRow& row, const Found& found) const {
    if (!found.timed) throw JsonFault{nullptr, "no key \"t\""};
    if (found.ids_at != nullptr) {
      check_id_count("hash_ids", row.prefix_ids, row.prompt_tokens, "in", block_, rule_, found.ids_at);
    }
  }

  void place_in_session(TraceRow& row, std::uint32_t session, RowBatch& batch) {
    row.session = session;
    if (session == 0 || begun_.insert(session).second) row.delay_ns = kAtArrival.count();
    if (!batch.keep_prefix_ids) return;
    for (std::int32_t i = 0; i < row.prefix_ids; ++i) {
      std::int64_t& id = batch.prefix_ids[row.first_prefix_id + static_cast<std::size_t>(i)];
      id = ids_.of(static_cast<std::uint64_t>(id), session);
    }
  }

  Tokens block_;
  PartialIds rule_;
  NameIds sessions_;
  std::unordered_set<std::uint32_t> begun_;
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
