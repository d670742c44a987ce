// blockyard schema: the JSON Schema of the scenario, for editors that complete and check YAML by it.
#include <ostream>

#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/options.h"
#include "sim/scenario/describe.h"
#include "sim/serving/names.h"

namespace blockyard::cli {

ExitStatus schema(const Arguments& arguments, Streams streams) {
  Options options("blockyard schema", "the JSON Schema of the scenario, for editors");
  options.epilogue(
      "An editor with a YAML language server checks a scenario whose first line is\n"
      "  # yaml-language-server: $schema=FILE\n"
      "where FILE holds the output of this command.");
  if (!options.parse(arguments, streams)) return ExitStatus::done;
  streams.out << scenario::json_schema(serving::scenario_schema(config_folder())).dump(2) << '\n';
  return ExitStatus::done;
}

}  // namespace blockyard::cli
