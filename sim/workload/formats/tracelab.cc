#include "sim/workload/formats/tracelab.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"

namespace blockyard::workload {
namespace {

class TraceLab final : public RecordFormat {
 public:
  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    TraceRow& row = batch.add();
    std::int64_t repeated = kMissingLength;
    std::int64_t appended = kMissingLength;
    Times times;
    const char* total_at = nullptr;
    for_each_field(record, [&](const JsonField& field) {
      if (field.key == "session_id") {
        row.session = sessions_.of(scalar_text(field));
      } else if (field.key == "input_tokens_total") {
        row.prompt_tokens = length_of(field);
        total_at = field.at;
      } else if (field.key == "prefix_tokens") {
        repeated = length_of(field);
      } else if (field.key == "newly_append_tokens") {
        appended = length_of(field);
      } else if (field.key == "output_tokens") {
        row.output_tokens = length_of(field);
      } else if (field.key == "provider") {
        row.category = batch.category(scalar_text(field));
      } else if (field.key == "timing_events") {
        for_each_element(field, [&](const JsonField& event) { times.add(event); });
      }
    });
    if (row.prompt_tokens >= 0 && repeated >= 0 && appended >= 0 && repeated + appended != row.prompt_tokens) {
      throw JsonFault{total_at,
                      fmt::format("input_tokens_total: found {}, expected prefix_tokens + newly_append_tokens = {}",
                                  row.prompt_tokens, repeated + appended)};
    }
    if (repeated >= 0) row.reused_tokens = static_cast<std::int32_t>(repeated);
    if (times.last == kUnknown) throw JsonFault{nullptr, "no timing_events with a timestamp"};
    row.time_ns = times.input != kUnknown ? times.input : times.first;
    if (row.session == 0) return;
    const auto [ended, is_first] = ended_.try_emplace(row.session, times.last);
    if (!is_first) row.delay_ns = std::max<std::int64_t>(row.time_ns - std::exchange(ended->second, times.last), 0);
  }

 private:
  static constexpr std::int64_t kUnknown = -1;

  struct Times {
    std::int64_t first = kUnknown;
    std::int64_t input = kUnknown;  // the last input event
    std::int64_t last = kUnknown;

    void add(const JsonField& event) {
      std::int64_t time = kUnknown;
      bool is_input = false;
      simdjson::ondemand::object object = object_of(event);
      for_each_field(object, [&](const JsonField& field) {
        if (field.key == "timestamp" && !is_null(field)) {
          time = log_time_of(field);
        } else if (field.key == "event_type") {
          is_input = scalar_text(field) == "user_message" || scalar_text(field) == "tool_result";
        }
      });
      if (time == kUnknown) return;
      first = first == kUnknown ? time : std::min(first, time);
      last = std::max(last, time);
      if (is_input) input = std::max(input, time);
    }
  };

  NameIds sessions_;
  std::unordered_map<std::uint32_t, std::int64_t> ended_;  // by session: its last round, ns
};

}  // namespace

bool is_tracelab(const Opening& opening) {
  return opening.has_keys({"session_id", "input_tokens_total", "output_tokens"});
}

std::unique_ptr<RowReader> open_tracelab(LineReader lines, const ReaderOptions& /*options*/) {
  return open_json(std::move(lines), std::make_unique<TraceLab>());
}

}  // namespace blockyard::workload
