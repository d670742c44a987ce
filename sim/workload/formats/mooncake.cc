#include "sim/workload/formats/mooncake.h"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"
#include "sim/workload/prompt_ids.h"
#include "sim/workload/text_length.h"

namespace blockyard::workload {
namespace {

class Mooncake final : public RecordFormat {
 public:
  Mooncake(const ReaderOptions& options, std::int64_t block_tokens)
      : block_(options.hash_block > 0 ? options.hash_block : block_tokens),
        rule_(options.partial_ids == PartialIds::by_format ? PartialIds::ceil : options.partial_ids) {}

  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    batch.prefix_block = block_;
    TraceRow& row = batch.add();
    PromptIds ids(batch, row);
    bool timed = false;
    std::int64_t text_tokens = kMissingLength;
    for_each_field(record, [&](const JsonField& field) {
      if (field.key == "hash_ids") {
        ids.read(field);
      } else if (field.key == "timestamp") {
        if (is_null(field)) return;
        row.time_ns = time_of(field, kMilliseconds);
        timed = true;
      } else if (field.key == "input_length") {
        row.prompt_tokens = length_of(field);
      } else if (field.key == "output_length") {
        row.output_tokens = length_of(field);
      } else if (field.key == "session_id") {
        if (!is_null(field)) row.session = sessions_.of(scalar_text(field));
      } else if (field.key == "delay") {
        if (!is_null(field)) row.delay_ns = time_of(field, kMilliseconds);
      } else if (field.key == "priority") {
        row.priority = static_cast<std::int32_t>(integer_of(field, INT32_MIN, INT32_MAX));
      } else if (field.key == "text_input" || field.key == "messages") {
        text_tokens = tokens_of_text(field);
      }
    });
    if (row.prompt_tokens == kMissingLength) row.prompt_tokens = text_tokens;
    ids.check_count("input_length", block_, rule_);
    place_in_session(row, timed);
  }

 private:
  static constexpr int kMilliseconds = 6;

  // The first turn of a session comes at its time; a later one with a delay, or without a time, when the one before it
  // is answered.
  void place_in_session(TraceRow& row, bool timed) {
    row.timed = timed;
    if (row.session == 0) {
      if (!timed) throw JsonFault{nullptr, "no key \"timestamp\", and no \"session_id\" whose turns need none"};
      return;
    }
    const auto [began, is_first] = began_.try_emplace(row.session, row.time_ns);
    if (is_first || timed) return;
    row.delay_ns = std::max(row.delay_ns, std::int64_t{0});
    row.time_ns = began->second;
  }

  Tokens block_;
  PartialIds rule_;
  NameIds sessions_;
  std::unordered_map<std::uint32_t, std::int64_t> began_;
};

}  // namespace

bool is_mooncake(const Opening& opening) {
  if (opening.has_key("chat_id") || opening.has_key("trace_block_size")) return false;
  if (opening.has_keys({"timestamp", "input_length", "output_length"})) return true;
  const bool has_prompt =
      opening.has_key("input_length") || opening.has_key("text_input") || opening.has_key("messages");
  const bool has_place = opening.has_key("session_id") && (opening.has_key("timestamp") || opening.has_key("delay"));
  const bool has_time = opening.has_keys({"timestamp", "text_input"});
  return has_prompt && (has_place || has_time);
}

std::unique_ptr<RowReader> open_mooncake(LineReader lines, const ReaderOptions& options) {
  return open_json(std::move(lines), std::make_unique<Mooncake>(options, kMooncakeBlockTokens));
}

std::unique_ptr<RowReader> open_vllm_timed(LineReader lines, const ReaderOptions& options) {
  return open_json(std::move(lines), std::make_unique<Mooncake>(options, kVllmTimedBlockTokens));
}

}  // namespace blockyard::workload
