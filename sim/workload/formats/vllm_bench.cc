#include "sim/workload/formats/vllm_bench.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"

namespace blockyard::workload {
namespace {

class VllmBench final : public RecordFormat {
 public:
  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    constexpr int kSeconds = 9;
    std::vector<std::int64_t> prompts;
    std::vector<std::int64_t> outputs;
    std::vector<std::int64_t> starts;
    std::vector<bool> failed;
    const char* at = nullptr;
    for_each_field(record, [&](const JsonField& field) {
      if (field.key == "input_lens") {
        at = field.at;
        for_each_element(field, [&](const JsonField& element) { prompts.push_back(length_of(element)); });
      } else if (field.key == "output_lens") {
        for_each_element(field, [&](const JsonField& element) { outputs.push_back(length_of(element)); });
      } else if (field.key == "start_times" && !is_null(field)) {
        for_each_element(field, [&](const JsonField& element) { starts.push_back(time_of(element, kSeconds)); });
      } else if (field.key == "errors" && !is_null(field)) {
        for_each_element(field, [&](const JsonField& element) {
          failed.push_back(!is_null(element) && !scalar_text(element).empty());
        });
      }
    });
    if (at == nullptr) throw JsonFault{nullptr, "no key \"input_lens\": save the result with --save-detailed"};
    const auto check = [&](const char* key, std::size_t count, bool optional) {
      if (count == prompts.size() || (optional && count == 0)) return;
      throw JsonFault{at, fmt::format("{}: found {} values, expected {} as in input_lens", key, count, prompts.size())};
    };
    check("output_lens", outputs.size(), false);
    check("start_times", starts.size(), true);
    check("errors", failed.size(), true);
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      TraceRow& row = batch.add();
      row.prompt_tokens = prompts[i];
      row.output_tokens = outputs[i];
      row.timed = !starts.empty();
      if (row.timed) row.time_ns = starts[i];
      if (!failed.empty() && failed[i]) row.kind = RowKind::failed;
    }
  }
};

}  // namespace

bool is_vllm_bench(const Opening& opening) {
  return opening.has_key("input_lens") || opening.has_keys({"completed", "total_input_tokens"});
}

std::unique_ptr<RowReader> open_vllm_bench(LineReader lines, const ReaderOptions& /*options*/) {
  constexpr std::size_t kLongestResult = std::size_t{1} << 30;
  return open_json(std::move(lines), std::make_unique<VllmBench>(), kLongestResult);
}

}  // namespace blockyard::workload
