// blockyard list: the names that a scenario can use, from the tables that validate it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/base/diagnostics.h"
#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/options.h"
#include "sim/serving/names.h"

namespace blockyard::cli {
namespace {

using serving::NameTable;

// Without a word: the lists themselves, each with what is in it.
NameDocs overview(const std::vector<NameTable>& tables) {
  NameDocs rows;
  for (const NameTable& table : tables) {
    std::vector<std::string> names;
    for (const NameDoc& name : table.names) names.push_back(name.name);
    rows.push_back({table.kind, fmt::format("{}", fmt::join(names, ", "))});
  }
  return rows;
}

const NameDocs& names_of(const std::string& what, const std::vector<NameTable>& tables, const Options& options) {
  const auto found = std::ranges::find(tables, what, &NameTable::kind);
  if (found != tables.end()) return found->names;
  std::vector<std::string> kinds;
  kinds.reserve(tables.size());
  for (const NameTable& table : tables) kinds.push_back(table.kind);
  options.fail(fmt::format("no list \"{}\"{} (lists: {})", what, did_you_mean(what, kinds), fmt::join(kinds, ", ")));
}

void print(const NameDocs& names, std::ostream& out) {
  std::size_t width = 0;
  for (const NameDoc& name : names) width = std::max(width, name.name.size());
  for (const NameDoc& name : names) out << fmt::format("{:<{}}  {}\n", name.name, width, name.doc);
}

void print_json(const NameDocs& names, std::ostream& out) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NameDoc& name : names) list.push_back({{"name", name.name}, {"doc", name.doc}});
  out << list.dump(2) << '\n';
}

}  // namespace

ExitStatus list(const Arguments& arguments, Streams streams) {
  Options options("blockyard list", "what a scenario can name: models, gpus, schedulers, ...");
  options.words("WHAT", 0, 1, "one of the lists; without it, all lists with the names in them");
  options.flag("json", "print JSON");
  if (!options.parse(arguments, streams)) return ExitStatus::done;
  const std::vector<NameTable> tables = serving::name_tables(config_folder());
  const NameDocs names =
      options.words().empty() ? overview(tables) : names_of(options.words().front(), tables, options);
  if (options.has("json")) {
    print_json(names, streams.out);
  } else {
    print(names, streams.out);
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
