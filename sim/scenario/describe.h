// A schema for people and for editors.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "sim/scenario/schema.h"

namespace blockyard::scenario {

// JSON Schema, draft 2020-12, with meanings, defaults, enumerations and patterns of quantities; keys in table order.
[[nodiscard]] nlohmann::ordered_json json_schema(const Schema& schema);

// A Markdown table: key, what it takes, default, meaning.
[[nodiscard]] std::string key_table(const Schema& schema);

}  // namespace blockyard::scenario
