// How long something that does one thing at a time was busy until an instant, and how busy it was at most: in which of
// the intervals [k w, (k + 1) w) the largest share. Stretches of work are told in order, as soon as they are known,
// which may be before they begin. Law: until(t) <= t - start. Cost: O(1) a stretch told and a question, and O(stretches
// told and not begun by then) where there are gaps between them; a long stretch costs no more than a short one.
#pragma once

#include <vector>

#include "sim/base/quantities.h"

namespace blockyard {

class BusyTime {
 public:
  BusyTime() = default;  // without an interval there is no busiest one
  explicit BusyTime(SimTime interval) : interval_(interval) {}

  // At `now`: it is busy from `begin` to `end`, not before `now`, and not before what was told last has ended.
  void add(SimTime now, SimTime begin, SimTime end);
  // What was before `now` does not count; intervals begin there at the earliest.
  void restart(SimTime now);

  // Of the time from the last restart to `now`, not before the last add.
  [[nodiscard]] SimTime until(SimTime now) const;
  // Of the intervals and parts of intervals in that time; 0 without any.
  [[nodiscard]] double busiest_share(SimTime now) const;

 private:
  struct Stretch {
    SimTime begin;
    SimTime end;
  };
  void settle(SimTime now);
  void count(const Stretch& stretch);
  void close_window(SimTime at);

  SimTime interval_ = kNever;
  SimTime start_;
  std::vector<Stretch> ahead_;  // what had not ended at the last add(); none touches the one before it
  SimTime total_;               // of all before those
  SimTime window_;              // where the interval begins that the last of them ended in
  SimTime in_window_;           // and how much of them lies in it
  double busiest_ = 0;          // of the intervals before that one
};

}  // namespace blockyard
