#include "sim/workload/formats/llmservingsim.h"

#include <fmt/format.h>

#include <utility>

#include "sim/workload/block_ids.h"
#include "sim/workload/json_fields.h"
#include "sim/workload/json_reader.h"
#include "sim/workload/name_ids.h"

namespace blockyard::workload {
namespace {

class LlmServingSim final : public RecordFormat {
 public:
  explicit LlmServingSim(const ReaderOptions& options)
      : block_(options.hash_block > 0 ? options.hash_block : kBlockTokens) {}

  void parse(simdjson::ondemand::object& record, RowBatch& batch) override {
    batch.prefix_block = block_;
    const std::size_t first = batch.size;
    TraceRow alone;
    alone.first_prefix_id = batch.prefix_ids.size();
    alone.delay_ns = 0;
    TokenIds tokens_alone;
    bool timed = false;
    bool agentic = false;
    for_each_field(record, [&](const JsonField& field) {
      if (field.key == "sub_requests") {
        agentic = true;
        for_each_element(field, [&](const JsonField& element) {
          TraceRow row;
          row.first_prefix_id = batch.prefix_ids.size();
          row.delay_ns = 0;
          simdjson::ondemand::object object = object_of(element);
          TokenIds tokens;
          for_each_field(object, [&](const JsonField& inner) { read(inner, row, batch, tokens); });
          tokens.check(row);
          batch.add() = row;
        });
      } else if (field.key == "arrival_time_ns" || field.key == "arrival_time") {
        alone.time_ns = time_of(field, field.key == "arrival_time" ? kSeconds : 0);
        timed = true;
      } else if (field.key == "session_id") {
        alone.session = sessions_.of(scalar_text(field));
      } else {
        read(field, alone, batch, tokens_alone);
      }
    });
    if (!timed) throw JsonFault{nullptr, "no key \"arrival_time_ns\""};
    if (!agentic) {
      tokens_alone.check(alone);
      batch.add() = alone;
      batch.rows[first].delay_ns = kAtArrival.count();
      return;
    }
    if (alone.session == 0) alone.session = sessions_.of(fmt::format("record {}", ++unnamed_));
    std::int64_t wait = kAtArrival.count();
    for (std::size_t i = first; i < batch.size; ++i) {
      TraceRow& row = batch.rows[i];
      row.session = alone.session;
      row.time_ns = alone.time_ns;
      row.timed = i == first;
      wait = std::exchange(row.delay_ns, wait);
    }
  }

 private:
  static constexpr std::int64_t kBlockTokens = 16;
  static constexpr int kSeconds = 9;

  // A prompt whose tokens are given has as many as it says.
  struct TokenIds {
    const char* at = nullptr;
    std::int64_t count = 0;

    void check(const TraceRow& row) const {
      if (at == nullptr || row.prompt_tokens < 0 || row.prompt_tokens == count) return;
      throw JsonFault{
          at, fmt::format("input_tok_ids: found {} ids, expected {} as input_toks says", count, row.prompt_tokens)};
    }
  };

  void read(const JsonField& field, TraceRow& row, RowBatch& batch, TokenIds& tokens) {
    if (field.key == "input_toks") {
      row.prompt_tokens = length_of(field);
    } else if (field.key == "output_toks") {
      row.output_tokens = length_of(field);
    } else if (field.key == "tool_duration_ns") {
      if (!is_null(field)) row.delay_ns = time_of(field, 0);
    } else if (field.key == "input_tok_ids" && !is_null(field)) {
      tokens.at = field.at;
      tokens.count = read_tokens(field, row, batch);
    }
  }

  // A block is known by all tokens up to its end: its id is that of (the block before it, its tokens).
  // Gives how many tokens there are.
  std::int64_t read_tokens(const JsonField& field, TraceRow& row, RowBatch& batch) {
    std::uint64_t hash = 0;
    std::int64_t in_block = 0;
    std::int64_t count = 0;
    for_each_element(field, [&](const JsonField& element) {
      ++count;
      std::int64_t token = 0;
      if (element.value.get_int64().get(token) != simdjson::SUCCESS) {
        throw JsonFault{field.at, "input_tok_ids: expected whole numbers"};
      }
      hash = mixed(hash, static_cast<std::uint64_t>(token));
      if (++in_block < block_.count()) return;
      in_block = 0;
      ++row.prefix_ids;
      const std::int64_t id = ids_.of(hash);
      hash = mixed(0, static_cast<std::uint64_t>(id));
      if (batch.keep_prefix_ids) batch.prefix_ids.push_back(id);
    });
    return count;
  }

  static std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    std::uint64_t x = hash * std::uint64_t{0x9e3779b97f4a7c15} + value + 1;
    x = (x ^ (x >> 30)) * std::uint64_t{0xbf58476d1ce4e5b9};
    x = (x ^ (x >> 27)) * std::uint64_t{0x94d049bb133111eb};
    return x ^ (x >> 31);
  }

  Tokens block_;
  NameIds sessions_;
  std::int64_t unnamed_ = 0;
  BlockIds ids_;
};

}  // namespace

bool is_llmservingsim(const Opening& opening) {
  return opening.has_key("sub_requests") || opening.has_keys({"input_toks", "output_toks", "arrival_time_ns"}) ||
         opening.has_keys({"input_toks", "output_toks", "arrival_time"});
}

std::unique_ptr<RowReader> open_llmservingsim(LineReader lines, const ReaderOptions& options) {
  constexpr std::size_t kLongestSession = std::size_t{256} << 20;
  return open_json(std::move(lines), std::make_unique<LlmServingSim>(options), kLongestSession);
}

}  // namespace blockyard::workload
