// Every table of names in one place: what scenarios may say, what `list` prints, what the schema enumerates.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/base/named.h"
#include "sim/scenario/scenario_keys.h"
#include "sim/scenario/schema.h"

namespace blockyard::serving {

struct NameTable {
  std::string kind;  // "schedulers"
  NameDocs names;
};

// `configs` is the folder with models/ and gpus/. The models and GPUs are the files there, by name.
[[nodiscard]] std::vector<NameTable> name_tables(const std::filesystem::path& configs);
[[nodiscard]] scenario::Schema scenario_schema(const std::filesystem::path& configs);
[[nodiscard]] scenario::Schema requests_schema(const std::filesystem::path& configs);  // a scenario's requests alone

}  // namespace blockyard::serving
