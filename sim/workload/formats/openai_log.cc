#include "sim/workload/formats/openai_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/workload/csv_fields.h"
#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"
#include "sim/workload/numbers.h"

namespace blockyard::workload {
namespace {

struct TimeKey {
  std::string_view key;
  int power;  // of the unit in ns; kLog: as it is written
};
constexpr int kLog = -1;
constexpr std::array kTimeKeys{
    TimeKey{"created", kLog},       TimeKey{"created_at", kLog}, TimeKey{"timestamp", kLog}, TimeKey{"time", kLog},
    TimeKey{"arrival_time", kLog},  TimeKey{"start_time", kLog}, TimeKey{"timestamp_ms", 6}, TimeKey{"created_ms", 6},
    TimeKey{"timestamp_us", 3},     TimeKey{"created_us", 3},    TimeKey{"timestamp_ns", 0}, TimeKey{"created_ns", 0},
    TimeKey{"startTimeUnixNano", 0}};

bool is_object(const JsonField& field) { return std::string_view(field.value.raw_json_token()).starts_with('{'); }

class OpenAiLog final : public RecordFormat {
 public:
  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    TraceRow& row = batch.add();
    bool timed = false;
    read(record, row, batch, timed, 0);
    if (!timed && row.kind == RowKind::request) {
      throw JsonFault{nullptr, "no time: expected created, created_at, timestamp, time or arrival_time"};
    }
  }

 private:
  static constexpr int kDeepest = 4;

  void read(simdjson::ondemand::object& object, TraceRow& row, RowBatch& batch, bool& timed, int depth) {
    for_each_field(object, [&](const JsonField& field) {
      const std::string_view key = field.key;
      if (is_null(field)) return;
      const auto time = std::ranges::find(kTimeKeys, key, &TimeKey::key);
      if ((key == "response" || key == "body" || key == "usage" || key == "prompt_tokens_details" ||
           key == "input_tokens_details") &&
          depth < kDeepest && is_object(field)) {
        simdjson::ondemand::object inner = object_of(field);
        read(inner, row, batch, timed, depth + 1);
      } else if (time != kTimeKeys.end()) {
        if (timed) return;
        row.time_ns = time->power == kLog ? log_time_of(field) : time_of(field, time->power);
        timed = true;
      } else if (key == "prompt_tokens" || key == "input_tokens") {
        row.prompt_tokens = length_of(field);
      } else if (key == "completion_tokens" || key == "output_tokens") {
        row.output_tokens = length_of(field);
      } else if (key == "max_tokens" || key == "max_completion_tokens") {
        row.max_tokens = std::max<std::int64_t>(length_of(field), 0);
      } else if (key == "cached_tokens") {
        row.reused_tokens = static_cast<std::int32_t>(std::max<std::int64_t>(length_of(field), 0));
      } else if (key == "session_id" || key == "conversation_id" || key == "session") {
        row.session = sessions_.of(scalar_text(field));
      } else if (key == "user" || key == "user_id" || key == "tenant") {
        row.tenant = tenants_.of(scalar_text(field));
      } else if (key == "model") {
        row.category = batch.category(scalar_text(field));
      } else if (key == "error" || (key == "status" || key == "status_code" ? is_failure(field) : false)) {
        row.kind = RowKind::failed;
      }
    });
  }

  static bool is_failure(const JsonField& field) {
    constexpr std::int64_t kFirstError = 400;
    const std::string_view text = scalar_text(field);
    const Decimal number = parse_decimal(text, 0);
    if (number.fault == nullptr) return number.value >= kFirstError;
    return same_name(text, "error") || same_name(text, "failed") || same_name(text, "failure") ||
           same_name(text, "timeout") || same_name(text, "cancelled") || same_name(text, "incomplete");
  }

  NameIds sessions_;
  NameIds tenants_;
};

}  // namespace

bool is_openai_log(const Opening& opening) {
  const auto has_any = [&](std::initializer_list<std::string_view> keys) {
    return std::any_of(keys.begin(), keys.end(), [&](std::string_view key) { return opening.has_key(key); });
  };
  if (opening.has_key("response.body") || has_any({"usage.prompt_tokens", "usage.input_tokens", "response.usage"})) {
    return true;
  }
  return has_any({"prompt_tokens"}) && has_any({"completion_tokens", "output_tokens"}) && !opening.has_key("arrival_s");
}

std::unique_ptr<RowReader> open_openai_log(LineReader lines, const ReaderOptions& /*options*/) {
  return open_json(std::move(lines), std::make_unique<OpenAiLog>());
}

}  // namespace blockyard::workload
