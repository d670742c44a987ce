#include "sim/cli/dispatch.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <ostream>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"
#include "sim/cli/commands.h"
#include "sim/workload/byte_source.h"

namespace blockyard::cli {
namespace {

bool asks_for_help(const std::string& word) { return word == "--help" || word == "-h"; }

void print_help(std::string_view prefix, std::string_view doc, std::span<const Command> table, std::ostream& to) {
  to << fmt::format("{}: {}\n\nusage: {} COMMAND [ARGUMENT]...\n\nCommands:\n", prefix, doc, prefix);
  std::size_t width = 0;
  for (const Command& command : table) width = std::max(width, command.name.size());
  for (const Command& command : table) to << fmt::format("  {:<{}}  {}\n", command.name, width, command.doc);
  to << fmt::format("\n`{} COMMAND --help` tells more of each.\n", prefix);
}

// `help trace info` means `trace info --help`.
Arguments help_turned_around(const Arguments& arguments) {
  Arguments turned(arguments.begin() + 1, arguments.end());
  turned.emplace_back("--help");
  return turned;
}

// A fault in what --set gave names it. One in the scenario's file may come of it all the same, where keys hang
// together.
std::string assignments_note(const InputError& error, const Arguments& arguments) {
  const auto in_scenario = [&](const Diagnostic& d) {
    return d.place.file.ends_with(".yaml") && std::ranges::find(arguments, d.place.file) != arguments.end();
  };
  if (!std::ranges::all_of(error.diagnostics(), in_scenario)) return "";
  std::string given;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string assignment;
    if (arguments[i].starts_with("--set=")) assignment = arguments[i].substr(6);
    if (arguments[i] == "--set" && i + 1 < arguments.size()) assignment = arguments[i + 1];
    if (!assignment.empty()) given += (given.empty() ? "" : ", ") + assignment;
  }
  return given.empty() ? "" : fmt::format("with --set {}: without it the file may be right\n", given);
}

}  // namespace

ExitStatus dispatch(std::string_view prefix, std::string_view doc, std::span<const Command> table,
                    const Arguments& arguments, Streams streams) {
  if (arguments.empty()) {
    print_help(prefix, doc, table, streams.err);
    return ExitStatus::bad_input;
  }
  const std::string& word = arguments.front();
  if (asks_for_help(word)) {
    print_help(prefix, doc, table, streams.out);
    return ExitStatus::done;
  }
  const auto found = std::ranges::find(table, word, &Command::name);
  if (found == table.end()) {
    std::vector<std::string> names;
    for (const Command& command : table) names.emplace_back(command.name);
    throw InputError({std::string(prefix), 0, 0}, fmt::format("no command \"{}\"{} (commands: {})", word,
                                                              did_you_mean(word, names), fmt::join(names, ", ")));
  }
  return found->run({arguments.begin() + 1, arguments.end()}, streams);
}

ExitStatus run_command_line(const Arguments& arguments, Streams streams) {
  try {
    const bool version = !arguments.empty() && arguments.front() == "--version";
    if (version) {
      streams.out << "blockyard " << BLOCKYARD_VERSION << '\n';
      return ExitStatus::done;
    }
    const bool help = !arguments.empty() && arguments.front() == "help";
    return dispatch("blockyard", "a discrete-event simulator of large-language-model serving", commands(),
                    help ? help_turned_around(arguments) : arguments, streams);
  } catch (const InputError& error) {
    streams.err << error.what() << '\n' << assignments_note(error, arguments);
    return ExitStatus::bad_input;
  } catch (const workload::ReadInterrupted& interrupted) {
    streams.err << "blockyard: " << interrupted.what() << '\n';
    return ExitStatus::interrupted;
  } catch (const WriteError& error) {
    streams.err << error.what() << '\n';
    return ExitStatus::run_failed;
  } catch (const std::bad_alloc&) {
    streams.err
        << "blockyard: not enough memory for what was asked; look for a budget, a pool or a trace that is too large\n";
    return ExitStatus::run_failed;
  } catch (const std::exception& error) {
    streams.err << "blockyard: " << error.what() << '\n';
    return ExitStatus::run_failed;
  }
}

}  // namespace blockyard::cli
