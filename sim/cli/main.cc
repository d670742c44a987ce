#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "sim/cli/dispatch.h"

int main(int argc, char** argv) {
  using blockyard::cli::ExitStatus;
  std::ios::sync_with_stdio(false);
  const blockyard::cli::Streams streams{std::cout, std::cerr, isatty(STDERR_FILENO) == 1};
  ExitStatus status = blockyard::cli::run_command_line({argv + 1, argv + argc}, streams);

  errno = 0;
  if (!std::cout.flush()) {
    // A reader that has seen enough (`| head`) is no news; a full disk is.
    if (errno != EPIPE) {
      std::cerr << "blockyard: cannot write to standard output" << (errno == 0 ? "" : ": ")
                << (errno == 0 ? "" : std::strerror(errno)) << '\n';
    }
    status = ExitStatus::run_failed;
  }
  return static_cast<int>(status);
}
