#include "sim/workload/sessions.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/workload/row_reader.h"

namespace blockyard::workload {
namespace {

constexpr double kMostTurns = 1e6;
constexpr Seconds kLongestDelay = 1e6;
constexpr Seconds kLongestDraw = 1e8;  // of a delay with a high CV
// Keeps times below 64 bits of ns.
constexpr SimTime kLongestSession(100LL * 365 * 86400 * kNanosecondsPerSecond);

Tokens draw_one(LengthDistribution& lengths, RandomStream& stream) {
  Tokens drawn;
  lengths.draw(stream, std::span(&drawn, 1));
  return drawn;
}

// As many sessions may begin as there are requests.
GeneratorSpec of_first_turns(const GeneratorSpec& spec) {
  GeneratorSpec firsts = spec;
  firsts.sessions.reset();
  return firsts;
}

}  // namespace

void check_sessions(const SessionSpec& spec, Diagnostics& errors) {
  if (!(spec.turns >= 1 && spec.turns <= kMostTurns))
    errors.add({}, fmt::format("sessions: turns: found {}, expected 1 to {}", spec.turns, kMostTurns));
  if (spec.delay < SimTime(0) || to_seconds(spec.delay) > kLongestDelay) {
    errors.add({},
               fmt::format("sessions: delay: found {} s, expected 0 to {} s", to_seconds(spec.delay), kLongestDelay));
  }
  if (!(spec.delay_cv >= 0 && spec.delay_cv <= 30))
    errors.add({}, fmt::format("sessions: delay_cv: found {}, expected 0 to 30", spec.delay_cv));
  if (spec.max_context && *spec.max_context < Tokens(2)) {
    errors.add({},
               fmt::format("sessions: max_context: found {}, expected 2 tokens or more", spec.max_context->count()));
  }
}

Sessions::Sessions(const GeneratorSpec& spec)
    : spec_(*spec.sessions),
      firsts_(of_first_turns(spec)),
      next_(make_length(spec_.next_tokens ? *spec_.next_tokens : spec.prompt_tokens)),
      output_(make_length(spec.output_tokens)),
      turns_stream_(spec.seed, "turns"),
      delay_stream_(spec.seed, "delay"),
      next_stream_(spec.seed, "next_tokens"),
      output_stream_(spec.seed, "next_outputs"),
      left_(spec.requests) {}

std::int64_t Sessions::turns() {
  if (!spec_.geometric) return static_cast<std::int64_t>(std::floor(spec_.turns + turns_stream_.uniform()));
  if (spec_.turns == 1) return 1;
  // P(more than k turns) = (1 - 1/mean)^k; the logarithm of a uniform number is minus an exponential one.
  const double more = turns_stream_.exponential(1) / -std::log1p(-1 / spec_.turns);
  return 1 + static_cast<std::int64_t>(std::min(more, 1e12));
}

SimTime Sessions::delay() {
  const Seconds mean = to_seconds(spec_.delay);
  if (mean == 0 || spec_.delay_cv == 0) return spec_.delay;
  const double shape = 1 / (spec_.delay_cv * spec_.delay_cv);
  return to_time(std::min(kLongestDraw, delay_stream_.gamma(shape, mean / shape)));
}

std::size_t Sessions::read(std::span<Request> out) {
  std::size_t count = 0;
  for (; count < out.size() && left_ > 0; ++count, --left_) {
    if (!has_first_) has_first_ = firsts_.read(std::span(&first_, 1)) == 1;
    Request& request = out[count];
    Open open;
    // At one instant sessions that are open go before one that begins.
    if (!open_.empty() && (!has_first_ || open_.top().at <= first_.arrival)) {
      open = open_.top();
      open_.pop();
      request = open.first;
      request.arrival = open.at;
      request.delay = open.delay;
      request.prompt_tokens = open.said;  // which holds the new tokens already
      request.output_tokens = request.max_tokens = open.output;
    } else {
      has_first_ = false;
      request = open.first = first_;
      request.session = open.session = ++sessions_;
      open.first.session = request.session;
      open.turns_left = turns();
      open.at = first_.arrival;
    }
    go_on(open, request);
  }
  return count;
}

// The turn after `sent`, if the session has one.
void Sessions::go_on(Open open, const Request& sent) {
  if (--open.turns_left <= 0) return;
  open.said = sent.prompt_tokens + sent.output_tokens + draw_one(*next_, next_stream_);
  open.output = draw_one(*output_, output_stream_);
  const Tokens longest = std::min(spec_.max_context.value_or(Tokens(kLongestLength)), Tokens(kLongestLength));
  if (open.said + open.output > longest) return;
  open.delay = delay();
  if (open.delay > kLongestSession - (open.at - open.first.arrival)) return;
  open.at += open.delay;
  open_.push(open);
}

}  // namespace blockyard::workload
