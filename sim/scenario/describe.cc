#include "sim/scenario/describe.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "sim/base/check.h"

namespace blockyard::scenario {
namespace {

using Json = nlohmann::ordered_json;

// A whole limit is written as an integer.
Json number(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) return static_cast<std::int64_t>(value);
  return value;
}

void add_limits(Json& json, const Limits& limits) {
  if (limits.low > -std::numeric_limits<double>::infinity()) {
    json[limits.low_excluded ? "exclusiveMinimum" : "minimum"] = number(limits.low);
  }
  if (limits.high < std::numeric_limits<double>::infinity()) json["maximum"] = number(limits.high);
}

Json quantity_pattern(Kind kind) {
  std::string units;
  for (const Unit& unit : units_of(kind)) units += fmt::format("{}{}", units.empty() ? "" : "|", unit.name);
  return {{"type", "string"},
          {"pattern", fmt::format("^[+-]?([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?\\s*({})$", units)}};
}

std::vector<Json> alternatives(const Key& key) {
  std::vector<Json> list;
  if (!key.words.empty()) {
    Json names = Json::array();
    for (const NameDoc& word : key.words) names.push_back(word.name);
    list.push_back({{"enum", std::move(names)}});
  }
  for (const Accept& accept : key.accepts) {
    Json json;
    switch (accept.kind) {
      case Kind::boolean:
        json["type"] = "boolean";
        break;
      case Kind::integer:
        json["type"] = "integer";
        add_limits(json, accept.limits);
        break;
      case Kind::real:
        json["type"] = "number";
        add_limits(json, accept.limits);
        break;
      case Kind::text:
      case Kind::file:
      case Kind::path:
      case Kind::word:
        json["type"] = "string";
        json["minLength"] = 1;
        break;
      case Kind::tokens:
        // A bare number is a number of tokens, unless other kinds could claim it.
        if (key.accepts.size() == 1) {
          Json bare{{"type", "integer"}};
          add_limits(bare, accept.limits);
          list.push_back(std::move(bare));
        }
        json = quantity_pattern(accept.kind);
        break;
      default:
        json = quantity_pattern(accept.kind);
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json fallback_json(const Value& value, const std::string& text) {
  switch (value.kind) {
    case Kind::boolean:
      return value.count != 0;
    case Kind::integer:
      return value.count;
    case Kind::real:
      return number(value.number);
    case Kind::tokens:
      if (text.find_first_not_of("0123456789") == std::string::npos) return value.count;
      return text;
    default:
      return text;
  }
}

std::string description(const Key& key) {
  std::string text = key.doc;
  for (const NameDoc& word : key.words) {
    if (!word.doc.empty()) text += fmt::format("\n{}: {}", word.name, word.doc);
  }
  return text;
}

Json section_json(const Schema& schema, std::size_t index);

Json key_json(const Schema& schema, std::size_t index) {
  const Key& key = schema.keys()[index];
  Json json{{"description", description(key)}};
  if (key.items != nullptr) {
    json["type"] = "array";
    json["minItems"] = 1;
    json["items"] = section_json(*key.items, 0);
    return json;
  }
  std::vector<Json> list = alternatives(key);
  CHECK_LAW(!list.empty(), "{} accepts nothing", key.path);
  if (list.size() == 1) {
    json.update(list.front());
  } else {
    json["anyOf"] = std::move(list);
  }
  if (schema.fallback(index)) json["default"] = fallback_json(*schema.fallback(index), *key.fallback);
  return json;
}

// Has a given section always to have this child? So if a key in the child is required in the section, or in one around.
bool required_in(const Schema& schema, std::size_t section, std::size_t child) {
  const Schema::Node& node = schema.nodes()[child];
  if (node.key) {
    const std::optional<std::string>& where = schema.keys()[*node.key].required_in;
    return where && schema.is_within(section, *where);
  }
  for (const std::size_t inner : node.children) {
    if (required_in(schema, section, inner)) return true;
  }
  return false;
}

Json section_json(const Schema& schema, std::size_t index) {
  const Schema::Node& section = schema.nodes()[index];
  Json json;
  if (!section.doc.empty()) json["description"] = section.doc;
  json["type"] = "object";
  Json properties = Json::object();
  Json required = Json::array();
  for (const std::size_t child : section.children) {
    const Schema::Node& node = schema.nodes()[child];
    properties[node.name] = node.key ? key_json(schema, *node.key) : section_json(schema, child);
    if (required_in(schema, index, child)) required.push_back(node.name);
  }
  json["properties"] = std::move(properties);
  if (!required.empty()) json["required"] = std::move(required);
  json["additionalProperties"] = false;
  return json;
}

std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string fallback_cell(const Key& key) {
  if (key.fallback) return fmt::format("`{}`", *key.fallback);
  if (!key.required_in) return "none";
  return key.required_in->empty() ? "required" : fmt::format("required in `{}`", *key.required_in);
}

// Keys of a list's items follow it: `clients[].share`.
std::string key_rows(const Schema& schema, const std::string& prefix) {
  std::string rows;
  for (const Key& key : schema.keys()) {
    const std::string value = key.items == nullptr ? expectation(key) : "a list of sections";
    rows += fmt::format("| `{}{}` | {} | {} | {} |\n", prefix, key.path, cell(value), cell(fallback_cell(key)),
                        cell(key.doc));
    if (key.items != nullptr) rows += key_rows(*key.items, key.path + "[].");
  }
  return rows;
}

}  // namespace

Json json_schema(const Schema& schema) {
  Json json{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", schema.title()}};
  json.update(section_json(schema, 0));
  return json;
}

std::string key_table(const Schema& schema) {
  return "| key | value | default | meaning |\n| --- | --- | --- | --- |\n" + key_rows(schema, "");
}

}  // namespace blockyard::scenario
