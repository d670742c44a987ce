#include "sim/workload/formats/dynamo.h"

#include <fmt/format.h>

#include <utility>

#include "sim/workload/block_ids.h"
#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"

namespace blockyard::workload {
namespace {

class Dynamo final : public RecordFormat {
 public:
  explicit Dynamo(const ReaderOptions& options)
      : block_(options.hash_block),
        rule_(options.partial_ids == PartialIds::by_format ? PartialIds::either : options.partial_ids) {}

  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    TraceRow& row = batch.add();
    row.first_prefix_id = batch.prefix_ids.size();
    Found found;
    read(record, row, batch, found);
    if (row.prompt_tokens == kMissingLength) {
      row.kind = RowKind::not_a_request;
      return;
    }
    if (found.time_rank == 0) throw JsonFault{nullptr, "no key \"request_received_ms\" or \"timestamp\""};
    if (found.hashes_at == nullptr) return;
    if (block_ == 0) block_ = found.block > 0 ? found.block : kBlockTokens;
    if (found.block > 0 && found.block != block_) {
      throw JsonFault{found.hashes_at,
                      fmt::format("trace_block_size: found {}, expected {} as in the rows above", found.block, block_)};
    }
    batch.prefix_block = Tokens(block_);
    check_id_count("input_sequence_hashes", row.prefix_ids, row.prompt_tokens, "input_length", batch.prefix_block,
                   rule_, found.hashes_at);
  }

 private:
  static constexpr std::int64_t kBlockTokens = 64;
  static constexpr int kMilliseconds = 6;

  struct Found {
    int time_rank = 0;  // the best of the keys that tell a time
    std::int64_t block = 0;
    const char* hashes_at = nullptr;
  };

  void read(simdjson::ondemand::object& object, TraceRow& row, RowBatch& batch, Found& found) {
    for_each_field(object, [&](const JsonField& field) {
      const std::string_view key = field.key;
      if (is_null(field)) return;
      if (key == "event" || key == "request" || key == "replay" || key == "agent_context") {
        if (std::string_view(field.value.raw_json_token()).starts_with('{')) {
          simdjson::ondemand::object inner = object_of(field);
          read(inner, row, batch, found);
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
        found.hashes_at = field.at;
        read_hashes(field, row, batch);
      }
    });
  }

  static void set_time(const JsonField& field, int rank, TraceRow& row, Found& found) {
    if (rank <= found.time_rank) return;
    row.time_ns = time_of(field, kMilliseconds);
    found.time_rank = rank;
  }

  void read_hashes(const JsonField& field, TraceRow& row, RowBatch& batch) {
    for_each_element(field, [&](const JsonField& element) {
      ++row.prefix_ids;
      std::uint64_t hash = 0;
      std::int64_t negative = 0;
      if (element.value.get_uint64().get(hash) != simdjson::SUCCESS) {
        if (element.value.get_int64().get(negative) != simdjson::SUCCESS) {
          throw JsonFault{field.at, "input_sequence_hashes: expected whole numbers of 64 bits"};
        }
        hash = static_cast<std::uint64_t>(negative);
      }
      if (batch.keep_prefix_ids) batch.prefix_ids.push_back(ids_.of(hash));
    });
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
