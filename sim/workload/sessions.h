// Conversations and agents: sessions of several turns, each of which begins with all that was said before it and is
// sent a delay after the answer before it (a user reads and types, an agent's tool runs). Sessions begin by the arrival
// process, whose rate is theirs; requests count turns, and the last sessions are cut off by their number.
//   turns       geometric with the given mean (CV sqrt(1 - 1/mean)), or always the mean, a fraction rounded up with its
//               own probability
//   prompt      turn 1: prompt_tokens. Later ones: the prompt and the answer before, and next_tokens (a user's
//               message, a tool's result)
//   delay       gamma of the given mean and CV
//   arrival     of a later turn, for an open loop: that of the turn before it + the delay, as if answers took no time
// Laws: arrivals never decrease; a prompt is the sum of the prompt and output before it and the new tokens; prompt +
// output stay within max_context, where it is given, for all but first turns. O(log open sessions) a request.
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "sim/workload/generator.h"

namespace blockyard::workload {

void check_sessions(const SessionSpec& spec, Diagnostics& errors);

class Sessions final : public RequestSource {
 public:
  explicit Sessions(const GeneratorSpec& spec);  // that has passed the checks, and has sessions
  std::size_t read(std::span<Request> out) override;

 private:
  struct Open {
    SimTime at;     // its next turn, and of that:
    SimTime delay;  // after the answer before
    Tokens said;    // prompt
    Tokens output;
    std::uint32_t session = 0;
    std::int64_t turns_left = 0;
    Request first;  // its first turn
    bool operator>(const Open& other) const { return at != other.at ? at > other.at : session > other.session; }
  };

  void go_on(Open open, const Request& sent);
  [[nodiscard]] std::int64_t turns();
  [[nodiscard]] SimTime delay();

  SessionSpec spec_;
  Generator firsts_;  // the first turns
  std::unique_ptr<LengthDistribution> next_;
  std::unique_ptr<LengthDistribution> output_;
  RandomStream turns_stream_;
  RandomStream delay_stream_;
  RandomStream next_stream_;
  RandomStream output_stream_;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open_;
  std::int64_t left_;
  Request first_;  // of the next session to begin
  bool has_first_ = false;
  std::uint32_t sessions_ = 0;
};

}  // namespace blockyard::workload
