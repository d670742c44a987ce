#include "sim/workload/formats/blockyard_jsonl.h"

#include <fmt/format.h>

#include <utility>

#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/prompt_ids.h"
#include "sim/workload/request.h"

namespace blockyard::workload {
namespace {

class BlockyardJsonl final : public RecordFormat {
 public:
  explicit BlockyardJsonl(const ReaderOptions& options)
      : block_(options.hash_block),
        rule_(options.partial_ids == PartialIds::by_format ? PartialIds::ceil : options.partial_ids) {}

  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    TraceRow& row = batch.add();
    PromptIds ids(batch, row);
    bool timed = false;
    std::int64_t block = 0;
    for_each_field(record, [&](const JsonField& field) {
      if (is_null(field)) return;
      const std::string_view key = field.key;
      if (key == "arrival_s") {
        row.time_ns = time_of(field, kSeconds);
        timed = true;
      } else if (key == "hash_ids") {
        ids.read(field);
      } else if (key == "block_tokens") {
        block = integer_of(field, 1, 1'000'000);
      } else {
        read(field, row, batch);
      }
    });
    if (!timed) throw JsonFault{nullptr, "no key \"arrival_s\""};
    if (ids.at() == nullptr) return;
    if (block_ == 0 && block == 0) throw JsonFault{ids.at(), "hash_ids without block_tokens"};
    if (block_ > 0 && block > 0 && block != block_) {
      throw JsonFault{ids.at(), fmt::format("block_tokens: found {}, expected {} as in the rows above", block, block_)};
    }
    const std::int64_t told = block_ > 0 ? block_ : block;
    ids.check_count("prompt_tokens", Tokens(told), rule_);
    block_ = told;
    batch.prefix_block = Tokens(told);
  }

 private:
  static constexpr int kSeconds = 9;

  static void read(const JsonField& field, TraceRow& row, RowBatch& batch) {
    const std::string_view key = field.key;
    const auto tokens = [&] { return integer_of(field, 0, kLongestLength); };
    const auto id = [&] { return static_cast<std::uint32_t>(integer_of(field, 0, UINT32_MAX)); };
    if (key == "prompt_tokens") {
      row.prompt_tokens = length_of(field);
    } else if (key == "output_tokens") {
      row.output_tokens = length_of(field);
    } else if (key == "max_tokens") {
      row.max_tokens = tokens();
    } else if (key == "priority") {
      row.priority = static_cast<std::int32_t>(integer_of(field, INT32_MIN, INT32_MAX));
    } else if (key == "tenant") {
      row.tenant = id();
    } else if (key == "session") {
      row.session = id();
    } else if (key == "prefix_id") {
      row.prefix = id();
    } else if (key == "prefix_tokens") {
      row.prefix_tokens = tokens();
    } else if (key == "reused_tokens") {
      row.reused_tokens = static_cast<std::int32_t>(tokens());
    } else if (key == "n") {
      row.samples = static_cast<std::int32_t>(integer_of(field, 1, kMostSamples));
    } else if (key == "delay_s") {
      row.delay_ns = time_of(field, kSeconds);
    } else if (key == "category") {
      row.category = batch.category(scalar_text(field));
    }
  }

  std::int64_t block_;  // 0 = not known yet
  PartialIds rule_;
};

}  // namespace

bool is_blockyard_jsonl(const Opening& opening) {
  return opening.has_keys({"arrival_s", "prompt_tokens", "output_tokens"});
}

std::unique_ptr<RowReader> open_blockyard_jsonl(LineReader lines, const ReaderOptions& options) {
  return open_json(std::move(lines), std::make_unique<BlockyardJsonl>(options));
}

}  // namespace blockyard::workload
