#include "sim/workload/json_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/workload/numbers.h"

namespace blockyard::workload {

namespace json = simdjson::ondemand;

void broken_json(simdjson::error_code error, const char* at) {
  throw JsonFault{at, fmt::format("not a JSON object: {}", simdjson::error_message(error))};
}

std::string_view scalar_text(const JsonField& field) {
  std::string_view text = field.value.raw_json_token();
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\n' || text.back() == '\r')) {
    text.remove_suffix(1);
  }
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text.remove_prefix(1);
    text.remove_suffix(1);
  }
  return text;
}

bool is_null(const JsonField& field) { return scalar_text(field) == "null"; }

json::object object_of(const JsonField& field) {
  json::object object;
  if (auto error = field.value.get_object().get(object)) broken_json(error, field.at);
  return object;
}

std::string_view string_of(const JsonField& field) {
  std::string_view text;
  if (field.value.get_string().get(text)) {
    throw JsonFault{field.at, fmt::format("{}: found {}, expected a string", field.key, quoted(scalar_text(field)))};
  }
  return text;
}

std::int64_t length_of(const JsonField& field) {
  const std::string_view text = scalar_text(field);
  if (text == "null") return kMissingLength;
  const Decimal number = parse_decimal(text, 0);
  const char* fault = number.fault;
  if (fault == nullptr && !number.exact) fault = "expected a whole number";
  if (fault == nullptr && number.value > kLongestLength) fault = "more than 1,000,000,000 tokens";
  if (fault != nullptr) throw JsonFault{field.at, fmt::format("{}: found {}, {}", field.key, quoted(text), fault)};
  return std::max(number.value, std::int64_t{-1});
}

std::int64_t time_of(const JsonField& field, int power) {
  const std::string_view text = scalar_text(field);
  const Decimal time = parse_decimal(text, power);
  const char* fault = time.fault;
  if (fault == nullptr && time.value < 0) fault = "a negative arrival";
  if (fault != nullptr) throw JsonFault{field.at, fmt::format("{}: found {}, {}", field.key, quoted(text), fault)};
  return time.value;
}

std::int64_t log_time_of(const JsonField& field) {
  constexpr int kNs = 0;
  constexpr int kSeconds = 9;
  const std::string_view text = scalar_text(field);
  const bool is_string = std::string_view(field.value.raw_json_token()).starts_with('"');
  if (!is_string) return time_of(field, kSeconds);
  if (text.find_first_not_of("0123456789") == std::string_view::npos) return time_of(field, kNs);
  const DateTime time = parse_date_time(text);
  if (time.fault != nullptr) {
    throw JsonFault{field.at, fmt::format("{}: found {}, {}", field.key, quoted(text), time.fault)};
  }
  return time.ns;
}

std::int64_t integer_of(const JsonField& field, std::int64_t low, std::int64_t high) {
  const std::string_view text = scalar_text(field);
  const Decimal number = parse_decimal(text, 0);
  if (number.fault != nullptr || !number.exact || number.value < low || number.value > high) {
    throw JsonFault{field.at, fmt::format("{}: found {}, expected a whole number from {} to {}", field.key,
                                          quoted(text), low, high)};
  }
  return number.value;
}

std::size_t read_block_ids(const JsonField& field, std::vector<std::int64_t>* out) {
  json::array array;
  if (auto error = field.value.get_array().get(array)) broken_json(error, field.at);
  std::size_t count = 0;
  if (out == nullptr) {
    if (auto error = array.count_elements().get(count)) broken_json(error, field.at);
    return count;
  }
  for (auto item : array) {
    json::value element;
    if (auto error = std::move(item).get(element)) broken_json(error, field.at);
    std::int64_t id = 0;
    if (element.get_int64().get(id) != simdjson::SUCCESS || id < 0 || id > kLargestPrefixId) {
      const JsonField found{field.key, element, field.at};
      throw JsonFault{field.at, fmt::format("{}: found {}, expected whole numbers from 0 to {}", field.key,
                                            quoted(scalar_text(found)), kLargestPrefixId)};
    }
    out->push_back(id);
    ++count;
  }
  return count;
}

void check_id_count(std::string_view key, std::int64_t count, std::int64_t prompt, std::string_view prompt_key,
                    Tokens block, PartialIds rule, const char* at) {
  if (prompt < 0) return;
  const std::int64_t begun = blocks_for(Tokens(prompt), block).count();
  const std::int64_t full = prompt / block.count();
  if (count == begun && rule != PartialIds::floor) return;
  if (count == full && rule != PartialIds::ceil) return;
  std::string expected = fmt::format("{}", rule == PartialIds::floor ? full : begun);
  if (rule == PartialIds::either && begun != full) expected = fmt::format("{} or {}", begun, full);
  std::string hint;
  if (count == full && count != begun) {
    hint = "; without an id for the partial last block it is read with partial_ids: floor";
  } else if (count > 0 && prompt > 0) {
    for (const std::int64_t other : {16, 32, 64, 128, 256, 512, 1024}) {
      if (blocks_for(Tokens(prompt), Tokens(other)).count() != count) continue;
      hint = fmt::format("; blocks of {} tokens would fit: hash_block: {}", other, other);
      break;
    }
  }
  throw JsonFault{at, fmt::format("{}: found {} ids, expected {} for {} {} in blocks of {} tokens{}", key, count,
                                  expected, prompt_key, prompt, block.count(), hint)};
}

}  // namespace blockyard::workload
