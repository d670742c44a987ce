#include "sim/base/busy_time.h"

#include <algorithm>
#include <cstddef>

#include "sim/base/check.h"

namespace blockyard {

void BusyTime::add(SimTime now, SimTime begin, SimTime end) {
  CHECK_LAW(now <= begin && begin <= end, "at {} ns: busy from {} to {} ns", now.count(), begin.count(), end.count());
  settle(now);
  if (begin == end) return;
  if (!ahead_.empty() && begin <= ahead_.back().end) {
    CHECK_LAW(begin == ahead_.back().end, "busy from {} ns, and still until {} ns", begin.count(),
              ahead_.back().end.count());
    ahead_.back().end = end;
  } else {
    ahead_.push_back({begin, end});
  }
}

void BusyTime::settle(SimTime now) {
  std::size_t over = 0;
  while (over < ahead_.size() && ahead_[over].end <= now) count(ahead_[over++]);
  ahead_.erase(ahead_.begin(), ahead_.begin() + static_cast<std::ptrdiff_t>(over));
}

void BusyTime::count(const Stretch& s) {
  total_ += s.end - s.begin;
  if (interval_ == kNever) return;
  const auto window_of = [this](SimTime t) { return t - SimTime(t.count() % interval_.count()); };
  if (s.begin >= window_ + interval_) {
    close_window(window_ + interval_);
    window_ = window_of(s.begin);
  }
  const SimTime edge = window_ + interval_;
  if (s.end > edge) {
    in_window_ += edge - s.begin;
    close_window(edge);
    window_ = window_of(s.end);
    if (window_ > edge) busiest_ = 1;
    in_window_ = s.end - window_;
  } else {
    in_window_ += s.end - s.begin;
  }
}

void BusyTime::close_window(SimTime at) {
  const SimTime lasted = at - std::max(window_, start_);
  if (lasted > SimTime(0)) busiest_ = std::max(busiest_, to_seconds(in_window_) / to_seconds(lasted));
  in_window_ = SimTime(0);
}

void BusyTime::restart(SimTime now) {
  settle(now);
  if (!ahead_.empty()) ahead_.front().begin = std::max(ahead_.front().begin, now);
  start_ = now;
  total_ = in_window_ = SimTime(0);
  busiest_ = 0;
  if (interval_ != kNever) window_ = now - SimTime(now.count() % interval_.count());
}

SimTime BusyTime::until(SimTime now) const {
  SimTime busy = total_;
  for (const Stretch& s : ahead_) {
    if (s.begin < now) busy += std::min(s.end, now) - s.begin;
  }
  return busy;
}

double BusyTime::busiest_share(SimTime now) const {
  if (interval_ == kNever) return 0;
  BusyTime then = *this;
  for (const Stretch& s : ahead_) {
    if (s.begin < now) then.count({s.begin, std::min(s.end, now)});
  }
  then.close_window(std::min(now, then.window_ + interval_));
  return then.busiest_;
}

}  // namespace blockyard
