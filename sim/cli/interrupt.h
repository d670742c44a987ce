// Ctrl-C as a flag: the first SIGINT or SIGTERM raises it, for the run to stop at its next look and write what is done;
// from then on the signals kill, as they do where no Interrupt lives. A signal that was ignored (nohup) stays ignored.
#pragma once

#include <signal.h>

#include <array>

namespace blockyard::cli {

class Interrupt {  // at most one at a time
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  [[nodiscard]] bool raised() const;

 private:
  std::array<struct sigaction, 2> before_{};
};

}  // namespace blockyard::cli
