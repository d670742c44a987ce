// A command of the program, and what every command is given and gives back. Commands write results to `out` and
// everything else (errors, progress, warnings) to `err`, so that output can be piped. Wrong input is thrown as
// InputError; dispatch.cc turns it into lines on `err` and exit status 2.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace blockyard::cli {

enum class ExitStatus {
  done = 0,
  run_failed = 1,
  bad_input = 2,      // usage, scenario or trace
  interrupted = 130,  // as shells say of Ctrl-C; what was done is written, marked partial
};

struct Streams {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
};

using Arguments = std::vector<std::string>;  // without the program's and the command's name

struct Command {
  std::string_view name;
  std::string_view doc;  // one line
  ExitStatus (*run)(const Arguments& arguments, Streams streams);
};

}  // namespace blockyard::cli
