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

// What a parser's error means to who wrote the file.
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

[[nodiscard]] simdjson::ondemand::array array_of(const JsonField& field);
[[nodiscard]] std::size_t count_elements(const JsonField& field);  // of an array

template <class Visit>
void for_each_element(const JsonField& field, const Visit& visit) {
  for (auto item : array_of(field)) {
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
// A time of a log, since the epoch: a number is in units of 10^number_power ns, a string of digits of 10^string_power
// ns, another string a date and time.
[[nodiscard]] std::int64_t log_time_of(const JsonField& field, int number_power = 9, int string_power = 0);
[[nodiscard]] std::int64_t integer_of(const JsonField& field, std::int64_t low, std::int64_t high);

}  // namespace blockyard::workload
