#include "sim/workload/formats/openai_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"
#include "sim/workload/status.h"

namespace blockyard::workload {
namespace {

// A number is 10^number_power ns, a string of digits 10^string_power ns, any other string a date and time. What the API
// itself calls created is in seconds, however it is quoted; the rest is in seconds as a number and in ns as a string. A
// string of 19 digits can only be ns: as anything else it is no time that 64 bits hold.
struct TimeKey {
  std::string_view key;
  int number_power;
  int string_power;
};
constexpr std::array kTimeKeys{TimeKey{"created", 9, 9},          TimeKey{"created_at", 9, 9},
                               TimeKey{"timestamp", 9, 0},        TimeKey{"time", 9, 0},
                               TimeKey{"arrival_time", 9, 0},     TimeKey{"start_time", 9, 0},
                               TimeKey{"timestamp_ms", 6, 6},     TimeKey{"created_ms", 6, 6},
                               TimeKey{"timestamp_us", 3, 3},     TimeKey{"created_us", 3, 3},
                               TimeKey{"timestamp_ns", 0, 0},     TimeKey{"created_ns", 0, 0},
                               TimeKey{"startTimeUnixNano", 0, 0}};

bool is_long(const JsonField& field) {
  constexpr std::size_t kDigitsOfNs = 19;  // since 2001
  const std::string_view text = scalar_text(field);
  return text.size() == kDigitsOfNs && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool is_object(const JsonField& field) { return std::string_view(field.value.raw_json_token()).starts_with('{'); }

bool tells_failure(const JsonField& field) {
  const bool is_status = field.key == "status" || field.key == "status_code";
  return is_status && !is_object(field) && !is_success(scalar_text(field));
}

class OpenAiLog final : public RecordFormat {
 public:
  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    TraceRow& row = batch.add();
    bool timed = false;
    read(record, row, batch, timed, 0);
    row.timed = timed;
    if (!timed && row.kind == RowKind::request) {
      throw JsonFault{nullptr,
                      "no time: expected created, created_at, timestamp, time, arrival_time or start_time, also with a "
                      "unit (_ms, _us, _ns)"};
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
        row.time_ns = log_time_of(field, time->number_power, is_long(field) ? 0 : time->string_power);
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
      } else if (key == "error" || tells_failure(field)) {
        row.kind = RowKind::failed;
      }
    });
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
