#include "sim/workload/json_fields.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/workload/numbers.h"

namespace blockyard::workload {

namespace json = simdjson::ondemand;

namespace {

std::string_view in_our_words(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return "nothing";
    case simdjson::UTF8_ERROR:
      return "bytes that are not UTF-8";
    case simdjson::UNESCAPED_CHARS:
      return "a line end or another control character inside a string";
    case simdjson::UNCLOSED_STRING:
      return "a string without its closing quote";
    case simdjson::STRING_ERROR:
      return "a string with an escape that is none";
    case simdjson::NUMBER_ERROR:
    case simdjson::NUMBER_OUT_OF_RANGE:
      return "a number that is none, or too large";
    case simdjson::T_ATOM_ERROR:
    case simdjson::F_ATOM_ERROR:
    case simdjson::N_ATOM_ERROR:
      return "a word other than true, false and null";
    case simdjson::DEPTH_ERROR:
      return "nested too deeply";
    case simdjson::CAPACITY:
    case simdjson::MEMALLOC:
      return "too large";
    case simdjson::INCORRECT_TYPE:
      return "another kind of value than expected";
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "it ends before its closing bracket";
    default:
      return "a bracket, a comma, a colon or a value is missing or in the wrong place";
  }
}

[[noreturn]] void wrong_kind(const JsonField& field, std::string_view wanted) {
  throw JsonFault{field.at, fmt::format("{}: found {}, expected {}", field.key, quoted(scalar_text(field)), wanted)};
}

}  // namespace

void broken_json(simdjson::error_code error, const char* at) {
  throw JsonFault{at, fmt::format("not a JSON object: {}", in_our_words(error))};
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

namespace {

template <class Value>
Value taken(const JsonField& field, simdjson::simdjson_result<Value> got, std::string_view wanted) {
  Value value;
  const auto error = std::move(got).get(value);
  if (error == simdjson::INCORRECT_TYPE) wrong_kind(field, wanted);
  if (error != simdjson::SUCCESS) broken_json(error, field.at);
  return value;
}

}  // namespace

json::object object_of(const JsonField& field) { return taken(field, field.value.get_object(), "an object"); }
json::array array_of(const JsonField& field) { return taken(field, field.value.get_array(), "an array"); }

std::size_t count_elements(const JsonField& field) {
  json::array array = array_of(field);
  std::size_t count = 0;
  if (auto error = array.count_elements().get(count)) broken_json(error, field.at);
  return count;
}

std::string_view string_of(const JsonField& field) {
  std::string_view text;
  if (field.value.get_string().get(text)) wrong_kind(field, "a string");
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

std::int64_t log_time_of(const JsonField& field, int number_power, int string_power) {
  const std::string_view text = scalar_text(field);
  const bool is_string = std::string_view(field.value.raw_json_token()).starts_with('"');
  if (!is_string) return time_of(field, number_power);
  // A fraction of a nanosecond is a slip in the unit.
  const std::string_view digits = string_power > 0 ? "0123456789." : "0123456789";
  if (text.find_first_not_of(digits) == std::string_view::npos) return time_of(field, string_power);
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

}  // namespace blockyard::workload
