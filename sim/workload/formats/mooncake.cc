#include "sim/workload/formats/mooncake.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "sim/base/quantities.h"
#include "sim/workload/numbers.h"

namespace blockyard::workload {
namespace {

namespace json = simdjson::ondemand;

// Ids become token ids: this many, times the tokens a block, stay well within 64 bits.
constexpr std::int64_t kLargestPrefixId = 1'000'000'000'000;

// The text of a number, null or whatever else stands there, for an exact parse.
std::string_view scalar_text(json::value value) {
  std::string_view text = value.raw_json_token();
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

class MooncakeReader final : public RowReader {
 public:
  explicit MooncakeReader(LineReader lines) : lines_(std::move(lines)) {}

  bool read(RowBatch& batch) override {
    batch.size = 0;
    batch.bad.clear();
    batch.prefix_ids.clear();
    batch.prefix_block = Tokens(kMooncakeBlockTokens);
    std::string_view line;
    for (std::size_t i = 0; i < RowBatch::kLines; ++i) {
      if (!lines_.next(line)) return i > 0;
      if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
      TraceRow& row = batch.rows[batch.size];
      row = TraceRow{};
      row.line = lines_.line_number();
      try {
        row.first_prefix_id = batch.prefix_ids.size();
        parse(line, row, batch);
      } catch (const Fault& fault) {
        const std::ptrdiff_t offset = fault.at == nullptr ? 0 : fault.at - line.data();
        batch.bad.push_back({lines_.place(static_cast<int>(offset) + 1), fault.message});
        continue;
      }
      ++batch.size;
    }
    return true;
  }

  [[nodiscard]] const std::string& file() const override { return lines_.file(); }

 private:
  struct Fault {
    const char* at;  // in the line; nullptr = its start
    std::string message;
  };

  // The line has the padding that simdjson wants.
  void parse(std::string_view line, TraceRow& row, RowBatch& batch) {
    std::optional<std::size_t> ids;
    const char* ids_at = nullptr;
    bool timed = false;
    json::document document;
    json::object object;
    const char* key_at = nullptr;
    if (auto error = parser_.iterate(line, line.size() + LineReader::kPadding).get(document)) broken(error, nullptr);
    if (auto error = document.get_object().get(object)) broken(error, nullptr);
    for (auto item : object) {
      json::field field;
      if (auto error = std::move(item).get(field)) broken(error, key_at);
      const json::raw_json_string key = field.key();
      key_at = key.raw() - 1;
      if (key == "hash_ids") {
        ids_at = key_at;
        std::size_t count = 0;
        json::array array;
        if (auto error = field.value().get_array().get(array)) broken(error, key_at);
        if (batch.keep_prefix_ids) {
          count = read_ids(array, batch.prefix_ids, key_at);
        } else if (auto error = array.count_elements().get(count)) {
          broken(error, key_at);
        }
        ids = count;
      } else if (key == "timestamp") {
        row.time_ns = time_ns(scalar_text(field.value()), key_at);
        timed = true;
      } else if (key == "input_length") {
        row.prompt_tokens = length("input_length", scalar_text(field.value()), key_at);
      } else if (key == "output_length") {
        row.output_tokens = length("output_length", scalar_text(field.value()), key_at);
      }
    }
    if (!document.current_location().error()) throw Fault{nullptr, "text behind the JSON object"};
    if (!timed) throw Fault{nullptr, "no key \"timestamp\""};
    if (ids) check_ids(static_cast<std::int64_t>(*ids), row.prompt_tokens, ids_at);
    row.prefix_ids = static_cast<std::int32_t>(ids.value_or(0));  // a line of 16 MiB holds fewer than 2^31
  }

  static std::size_t read_ids(json::array& array, std::vector<std::int64_t>& out, const char* at) {
    const std::size_t before = out.size();
    for (auto element : array) {
      std::int64_t id = 0;
      if (auto error = element.get_int64().get(id)) broken(error, at);
      if (id < 0 || id > kLargestPrefixId)
        throw Fault{at, fmt::format("hash_ids: found {}, expected 0 to {}", id, kLargestPrefixId)};
      out.push_back(id);
    }
    return out.size() - before;
  }

  [[noreturn]] static void broken(simdjson::error_code error, const char* at) {
    throw Fault{at, fmt::format("not a JSON object: {}", simdjson::error_message(error))};
  }

  static std::int64_t time_ns(std::string_view text, const char* at) {
    const Decimal time = parse_decimal(text, 6);
    if (time.fault != nullptr) throw Fault{at, fmt::format("timestamp: found {}, {}", quoted(text), time.fault)};
    if (time.value < 0) throw Fault{at, fmt::format("timestamp: found {}, a negative arrival", quoted(text))};
    return time.value;
  }

  static std::int64_t length(std::string_view key, std::string_view text, const char* at) {
    if (text == "null") return kMissingLength;
    const Decimal number = parse_decimal(text, 0);
    const char* fault = number.fault;
    if (fault == nullptr && !number.exact) fault = "expected a whole number";
    if (fault == nullptr && number.value > kLongestLength) fault = "more than 1,000,000,000 tokens";
    if (fault != nullptr) throw Fault{at, fmt::format("{}: found {}, {}", key, quoted(text), fault)};
    return std::max(number.value, std::int64_t{-1});
  }

  static void check_ids(std::int64_t count, std::int64_t prompt, const char* at) {
    if (prompt < 0) return;
    const std::int64_t ceiling = blocks_for(Tokens(prompt), Tokens(kMooncakeBlockTokens)).count();
    if (count == ceiling || count == prompt / kMooncakeBlockTokens) return;
    throw Fault{at, fmt::format("hash_ids: found {} ids, expected {} for input_length {} in blocks of {} tokens", count,
                                ceiling, prompt, kMooncakeBlockTokens)};
  }

  LineReader lines_;
  json::parser parser_;
};

}  // namespace

bool is_mooncake(std::string_view first_line) {
  const auto has = [&](std::string_view text) { return first_line.find(text) != std::string_view::npos; };
  return first_line.find_first_not_of(" \t") != std::string_view::npos &&
         first_line[first_line.find_first_not_of(" \t")] == '{' && has("\"timestamp\"") && has("\"input_length\"") &&
         has("\"output_length\"") && !has("\"chat_id\"") && !has("\"session_id\"");
}

std::unique_ptr<RowReader> open_mooncake(LineReader lines, bool /*header*/) {
  return std::make_unique<MooncakeReader>(std::move(lines));
}

}  // namespace blockyard::workload
