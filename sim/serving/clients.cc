#include "sim/serving/clients.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/base/check.h"
#include "sim/workload/byte_source.h"

namespace blockyard::serving {
namespace {

constexpr SimTime kReaction(1);
// Beyond the longest run; keeps sums of times below 64 bits.
constexpr Seconds kLongestWait = 1e9;

SimTime scaled(SimTime delay, double factor) {
  return factor == 1 ? std::min(delay, to_time(kLongestWait))
                     : to_time(std::min(kLongestWait, to_seconds(delay) * factor));
}

}  // namespace

Clients::Clients(const ClientOptions& options, workload::RequestSource& source)
    : options_(options), source_(&source), think_stream_(options.seed, "think_time") {}

// What waits for an answer is held; all else is due at its time.
void Clients::read_all() {
  const bool users = options_.mode == ClientMode::users;
  std::unordered_map<std::uint32_t, std::uint32_t> turns;
  while (front() != nullptr) {
    for (; at_ < buffered_; ++at_) {
      const workload::Request& request = buffer_[at_];
      const std::uint32_t turn = request.session == 0 ? 0 : turns[request.session]++;
      if (turn > 0 && (users || request.delay >= SimTime(0))) {
        held_[request.session].push_back({turn, true, request});
      } else {
        due_.push({users ? SimTime(0) : request.arrival, order_++, {turn, false, request}});
      }
    }
  }
}

const workload::Request* Clients::front() {
  if (at_ < buffered_) return &buffer_[at_];
  if (source_ended_) return nullptr;
  at_ = 0;
  buffered_ = 0;
  try {
    buffered_ = source_->read(buffer_);
  } catch (const workload::ReadInterrupted&) {
    interrupted_ = true;
  }
  source_ended_ = buffered_ == 0;
  return source_ended_ ? nullptr : buffer_.data();
}

SimTime Clients::next_due() {
  if (options_.mode != ClientMode::open) {
    if (!source_ended_) read_all();
    return due_.empty() ? kNever : due_.top().time;
  }
  const workload::Request* const request = front();
  return request == nullptr ? kNever : request->arrival;
}

SimTime Clients::next_time() {
  const SimTime due = next_due();
  if (due == kNever || has_place()) return due;
  return thinking_.empty() ? kNever : std::max(due, thinking_.top());
}

std::optional<workload::Request> Clients::send(SimTime now) {
  for (; !thinking_.empty() && thinking_.top() <= now; thinking_.pop()) --taken_;
  if (!has_place() || next_due() > now) return std::nullopt;
  Turn turn;
  if (options_.mode == ClientMode::open) {
    turn.request = buffer_[at_++];
  } else {
    turn = due_.top().turn;
    due_.pop();
  }
  turn.request.arrival = now;
  if (turn.follows) ++follow_ups_;
  out_.push_back({turn.request.session, turn.number});
  ++taken_;
  return turn.request;
}

SimTime Clients::thinks() {
  const double mean = to_seconds(options_.think_time);
  if (mean == 0 || options_.think_cv == 0) return options_.think_time;
  const double shape = 1 / (options_.think_cv * options_.think_cv);
  return to_time(std::min(kLongestWait, think_stream_.gamma(shape, mean / shape)));
}

void Clients::ended(SimTime now, RequestId id) {
  CHECK_LAW(taken_ > 0 && index_of(id) < out_.size(), "request {} ended and was never sent", index_of(id));
  if (options_.places) {
    thinking_.push(now + std::max(kReaction, thinks()));
  } else {
    --taken_;
  }
  const auto [name, turn] = out_[index_of(id)];
  if (name == 0 || options_.mode == ClientMode::open) return;
  const auto session = held_.find(name);
  if (session == held_.end()) return;
  const auto next = std::ranges::lower_bound(session->second, turn + 1, {}, &Turn::number);
  if (next == session->second.end() || next->number != turn + 1) return;
  const SimTime delay = std::max(SimTime(0), next->request.delay);
  due_.push({now + std::max(kReaction, scaled(delay, options_.delay_scale)), order_++, *next});
}

std::string Clients::description() const {
  std::string text;
  if (options_.mode == ClientMode::users) {
    text = fmt::format("closed loop: {} users, ", *options_.places);
    text += options_.think_time == SimTime(0)
                ? std::string("who do not think between an answer and the next request")
                : fmt::format("who think for {:.6g} s{} between an answer and the next request",
                              to_seconds(options_.think_time),
                              options_.think_cv == 0 ? "" : fmt::format(" on average (CV {:.4g})", options_.think_cv));
    text += "; recorded times are not used";
  } else {
    text = follow_ups_ > 0
               ? fmt::format(
                     "closed loop: {} of {} requests were sent after the answer before them in their session, the "
                     "others at their times",
                     follow_ups_, out_.size())
               : std::string(kOpenLoop);
    if (options_.places)
      text += fmt::format("; no more than {} at once: clients hold the others back", *options_.places);
  }
  if (options_.delay_scale != 1) text += fmt::format("; delays after an answer times {:.6g}", options_.delay_scale);
  return text;
}

}  // namespace blockyard::serving
