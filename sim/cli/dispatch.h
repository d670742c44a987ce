// From the words on the command line to the command that does the work: finds it by name, answers --help and --version,
// and names the nearest command for a slip of the hand.
#pragma once

#include <span>
#include <string_view>

#include "sim/cli/command.h"

namespace blockyard::cli {

// The whole program but for the real streams. Throws nothing: InputError becomes lines on `err` and bad_input, every
// other exception run_failed.
[[nodiscard]] ExitStatus run_command_line(const Arguments& arguments, Streams streams);

// Runs the command of `table` that the first argument names. `prefix` is how the user came here, e.g. "blockyard
// trace".
[[nodiscard]] ExitStatus dispatch(std::string_view prefix, std::string_view doc, std::span<const Command> table,
                                  const Arguments& arguments, Streams streams);

}  // namespace blockyard::cli
