#include "sim/workload/text_length.h"

#include <algorithm>

namespace blockyard::workload {
namespace {

constexpr int kDeepest = 4;  // messages: [{content: [{text: "..."}]}]

std::int64_t characters_of(const JsonField& field, int depth) {
  simdjson::ondemand::json_type type{};
  if (auto error = field.value.type().get(type)) broken_json(error, field.at);
  std::int64_t sum = 0;
  if (type == simdjson::ondemand::json_type::string) {
    sum = characters_in(string_of(field));
  } else if (type == simdjson::ondemand::json_type::array && depth < kDeepest) {
    for_each_element(field, [&](const JsonField& element) { sum += characters_of(element, depth + 1); });
  } else if (type == simdjson::ondemand::json_type::object && depth < kDeepest) {
    simdjson::ondemand::object object = object_of(field);
    for_each_field(object, [&](const JsonField& inner) {
      if (inner.key == "content" || inner.key == "text") sum += characters_of(inner, depth + 1);
    });
  }
  return sum;
}

}  // namespace

std::int64_t characters_in(std::string_view utf8) {
  return std::count_if(utf8.begin(), utf8.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::int64_t tokens_of_text(const JsonField& field) { return tokens_of(characters_of(field, 0)); }

}  // namespace blockyard::workload
