#include "sim/workload/formats/dynamo.h"

#include <fmt/format.h>

#include <utility>

#include "sim/workload/block_ids.h"
#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"
#include "sim/workload/prompt_ids.h"

namespace blockyard::workload {
namespace {

class Dynamo final : public RecordFormat {
 public:
  explicit Dynamo(const ReaderOptions& options)
      : block_(options.hash_block),
        rule_(options.partial_ids == PartialIds::by_format ? PartialIds::either : options.partial_ids) {}

  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    TraceRow& row = batch.add();
    PromptIds ids(batch, row);
    Found found;
    read(record, row, ids, found);
    row.timed = found.time_rank > 0;
    if (row.prompt_tokens == kMissingLength) {
      row.kind = RowKind::not_a_request;
      return;
    }
    if (!row.timed) throw JsonFault{nullptr, "no key \"request_received_ms\" or \"timestamp\""};
    if (ids.at() == nullptr) return;
    const std::int64_t told = block_ > 0 ? block_ : found.block > 0 ? found.block : kBlockTokens;
    if (found.block > 0 && found.block != told) {
      throw JsonFault{ids.at(),
                      fmt::format("trace_block_size: found {}, expected {} as in the rows above", found.block, told)};
    }
    ids.check_count("input_length", Tokens(told), rule_);
    block_ = told;
    batch.prefix_block = Tokens(told);
  }

 private:
  static constexpr std::int64_t kBlockTokens = 64;
  static constexpr int kMilliseconds = 6;

  struct Found {
    int time_rank = 0;  // the best of the keys that tell a time
    std::int64_t block = 0;
  };

  void read(simdjson::ondemand::object& object, TraceRow& row, PromptIds& ids, Found& found) {
    for_each_field(object, [&](const JsonField& field) {
      const std::string_view key = field.key;
      if (is_null(field)) return;
      if (key == "event" || key == "request" || key == "replay" || key == "agent_context") {
        if (std::string_view(field.value.raw_json_token()).starts_with('{')) {
          simdjson::ondemand::object inner = object_of(field);
          read(inner, row, ids, found);
        }
      } else if (key == "input_length" || (key == "input_tokens" && row.prompt_tokens == kMissingLength)) {
        row.prompt_tokens = length_of(field);
      } else if (key == "output_length" || (key == "output_tokens" && row.output_tokens == kMissingLength)) {
        row.output_tokens = length_of(field);
      } else if (key == "session_id" || (key == "trajectory_id" && row.session == 0)) {
        row.session = sessions_.of(scalar_text(field));
      } else if (key == "priority") {
        row.priority = static_cast<std::int32_t>(integer_of(field, INT32_MIN, INT32_MAX));
      } else if (key == "request_received_ms") {
        set_time(field, 3, row, found);
      } else if (key == "timestamp") {
        set_time(field, 2, row, found);
      } else if (key == "event_time_unix_ms") {
        set_time(field, 1, row, found);
      } else if (key == "trace_block_size") {
        found.block = integer_of(field, 1, 1'000'000);
      } else if (key == "input_sequence_hashes") {
        ids.read_each(field, [&](const JsonField& element) { return ids_.of(hash_of(element)); });
      }
    });
  }

  static void set_time(const JsonField& field, int rank, TraceRow& row, Found& found) {
    if (rank <= found.time_rank) return;
    row.time_ns = time_of(field, kMilliseconds);
    found.time_rank = rank;
  }

  static std::uint64_t hash_of(const JsonField& element) {
    std::uint64_t hash = 0;
    if (element.value.get_uint64().get(hash) == simdjson::SUCCESS) return hash;
    std::int64_t negative = 0;
    if (element.value.get_int64().get(negative) != simdjson::SUCCESS) {
      throw JsonFault{element.at, "input_sequence_hashes: expected whole numbers of 64 bits"};
    }
    return static_cast<std::uint64_t>(negative);
  }

  std::int64_t block_;  // 0 = not known yet
  PartialIds rule_;
  NameIds sessions_;
  BlockIds ids_;
};

}  // namespace

bool is_dynamo(const Opening& opening) {
  return opening.has_key("trace_block_size") || opening.has_key("input_sequence_hashes") ||
         opening.has_keys({"event_type", "agent_context"}) || opening.has_keys({"event.event_type", "event.request"}) ||
         opening.has_key("replay.input_sequence_hashes");
}

std::unique_ptr<RowReader> open_dynamo(LineReader lines, const ReaderOptions& options) {
  return open_json(std::move(lines), std::make_unique<Dynamo>(options));
}

}  // namespace blockyard::workload
