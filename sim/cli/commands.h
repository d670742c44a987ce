// The commands of the program, one file each, and their table: a new command is one file and one line in commands.cc.
#pragma once

#include <span>

#include "sim/cli/command.h"

namespace blockyard::cli {

[[nodiscard]] ExitStatus run(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus compare(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus calibrate(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus validate(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus size(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus conform(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus explain(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus cache(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus trace(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus trace_info(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus trace_convert(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus trace_generate(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus list(const Arguments& arguments, Streams streams);
[[nodiscard]] ExitStatus schema(const Arguments& arguments, Streams streams);

[[nodiscard]] std::span<const Command> commands();
[[nodiscard]] std::span<const Command> trace_commands();

}  // namespace blockyard::cli
