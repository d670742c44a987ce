// Values of a JSON record as the numbers, times and names of a trace: exact, and with a fault that says which key it
// was.
#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/workload/row_reader.h"

namespace blockyard::workload {

// What is wrong with a record, and where: thrown by the functions below, told with the place by JsonReader.
struct JsonFault {
  const char* at;  // in the record; nullptr = its start
  std::string message;
};

[[noreturn]] void broken_json(simdjson::error_code error, const char* at);

// One key of an object and its value.
struct JsonField {
  std::string_view key;  // as it is written
  simdjson::ondemand::value& value;
  const char* at;  // where the key stands
};

// Calls visit(JsonField) for each key. A value may be left alone.
template <class Visit>
void for_each_field(simdjson::ondemand::object& object, const Visit& visit) {
  const char* at = nullptr;
  for (auto item : object) {
    simdjson::ondemand::field field;
    if (auto error = std::move(item).get(field)) broken_json(error, at);
    const char* const key = field.key().raw();
    at = key - 1;
    std::size_t length = 0;
    while (key[length] != '"') length += key[length] == '\\' ? 2U : 1U;
    visit(JsonField{{key, length}, field.value(), at});
  }
}

template <class Visit>
void for_each_element(const JsonField& field, const Visit& visit) {
  simdjson::ondemand::array array;
  if (auto error = field.value.get_array().get(array)) broken_json(error, field.at);
  for (auto item : array) {
    simdjson::ondemand::value element;
    if (auto error = std::move(item).get(element)) broken_json(error, field.at);
    visit(JsonField{field.key, element, field.at});
  }
}

// A number, null, true, or the inside of a string (escapes as they are written), for an exact parse.
[[nodiscard]] std::string_view scalar_text(const JsonField& field);
[[nodiscard]] bool is_null(const JsonField& field);
[[nodiscard]] simdjson::ondemand::object object_of(const JsonField& field);
[[nodiscard]] std::string_view string_of(const JsonField& field);  // unescaped; valid until the next record

// A number of tokens as the lengths policy wants it: null = kMissingLength, negative = -1.
[[nodiscard]] std::int64_t length_of(const JsonField& field);
// decimal * 10^power as ns, never negative.
[[nodiscard]] std::int64_t time_of(const JsonField& field, int power);
// A number is seconds since the epoch, a date and time what it says, a string of digits ns since the epoch.
[[nodiscard]] std::int64_t log_time_of(const JsonField& field);
[[nodiscard]] std::int64_t integer_of(const JsonField& field, std::int64_t low, std::int64_t high);

// Ids become token ids: this many, times the tokens a block, stay well within 64 bits.
inline constexpr std::int64_t kLargestPrefixId = 1'000'000'000'000;
// Appends ids of prompt blocks to `out`, or only counts them where out is null.
std::size_t read_block_ids(const JsonField& field, std::vector<std::int64_t>* out);

// The count of ids is right for the prompt, or a fault with the counts expected.
void check_id_count(std::string_view key, std::int64_t count, std::int64_t prompt, std::string_view prompt_key,
                    Tokens block, PartialIds rule, const char* at);

}  // namespace blockyard::workload
