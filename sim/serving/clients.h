// Who sends the requests, and when: the open loop that never looks at answers, and the closed ones that wait for them.
//   open      every request at its time in the source
//   sessions  a request with a delay is sent that long after the one before it in its session has ended (answered,
//             rejected, given up), whatever its own time; the others at their time
//   users     so many users: each takes the next request of the source that nothing stands before, whatever its time,
//             sends it, waits for the answer, thinks, and takes the next; a session's requests keep their order and
//             their delays
// In the first two at most max_concurrency are out at once; the others are sent in the order in which they were due.
// A client never reacts within the instant: what an answer sets off comes 1 ns after it at the earliest, so that the
// step that begins at that instant does not see it.
//
// Laws: sent times never decrease; every request is sent once, unless one before it never ends; no more than
// max_concurrency, or users, are out. Cost: O(log n) a request. Only `open` streams; the others hold the whole source,
// since a turn may be due before its recorded time.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/base/ids.h"
#include "sim/base/quantities.h"
#include "sim/base/random.h"
#include "sim/workload/request.h"

namespace blockyard::serving {

// What the report says of a run without Clients.
inline constexpr const char* kOpenLoop = "open loop: requests are sent at their times, whatever the answers";

enum class ClientMode : std::uint8_t { open, sessions, users };

struct ClientOptions {
  ClientMode mode = ClientMode::open;
  std::optional<std::int64_t> places;  // max_concurrency, or the number of users; none: everybody sends at once
  SimTime think_time;                  // mean, of users
  double think_cv = 0;                 // standard deviation / mean: gamma, 0 = always the mean, 1 = exponential
  double delay_scale = 1;              // the delays of sessions are multiplied by this
  std::uint64_t seed = 0;

  // Do answers matter? If not, there need be no Clients.
  [[nodiscard]] bool closed() const { return mode != ClientMode::open || places.has_value(); }
};

class Clients {
 public:
  Clients(const ClientOptions& options, workload::RequestSource& source);

  // When somebody sends next unless an answer comes before; kNever: nobody without one.
  [[nodiscard]] SimTime next_time();
  // The next request sent at `now`, its arrival the time at which it is; none: no more now. Their ids count up from 0.
  std::optional<workload::Request> send(SimTime now);
  void ended(SimTime now, RequestId id);

  // A signal came while the source waited for bytes: nobody sends any more.
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  // What has been sent, in words for the report.
  [[nodiscard]] std::string description() const;

 private:
  struct Turn {
    std::uint32_t number = 0;  // in its session, from 0
    bool follows = false;      // the answer before it
    workload::Request request;
  };
  struct Due {
    SimTime time;
    std::uint64_t order = 0;  // of equal times
    Turn turn;
    bool operator>(const Due& other) const { return time != other.time ? time > other.time : order > other.order; }
  };
  struct Out {
    std::uint32_t session = 0;
    std::uint32_t turn = 0;
  };

  void read_all();
  [[nodiscard]] const workload::Request* front();  // of the source; nullptr at its end
  [[nodiscard]] SimTime next_due();
  [[nodiscard]] bool has_place() const { return !options_.places || taken_ < *options_.places; }
  [[nodiscard]] SimTime thinks();

  ClientOptions options_;
  workload::RequestSource* source_;
  RandomStream think_stream_;
  std::array<workload::Request, 256> buffer_;  // of a source that streams
  std::size_t buffered_ = 0;
  std::size_t at_ = 0;
  bool source_ended_ = false;
  bool interrupted_ = false;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  // By session: the turns that are held until the one before them has ended, in order.
  std::unordered_map<std::uint32_t, std::vector<Turn>> held_;
  std::vector<Out> out_;                                                         // by request
  std::priority_queue<SimTime, std::vector<SimTime>, std::greater<>> thinking_;  // when places are free again
  std::int64_t taken_ = 0;  // places of requests that are out, or whose user thinks
  std::uint64_t order_ = 0;
  std::int64_t follow_ups_ = 0;  // sent because an answer had come
};

}  // namespace blockyard::serving
