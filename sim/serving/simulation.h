// One run: requests arrive from their source, the front end's time after they were sent, replicas step, simulated time
// goes from event to event until nothing is left. Order at one instant: arrivals first, then the ends of steps and the
// starts of the next, replica by replica, so that a request that arrives as a step ends is seen by the next one; last,
// what engines publish for a router. Law: arrived == finished + rejected + timed out + unfinished. Cost: O(1) a request
// beside its steps; requests are read as they are needed.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "sim/engine/event_queue.h"
#include "sim/kv/memory.h"
#include "sim/metrics/collector.h"
#include "sim/serving/clients.h"
#include "sim/serving/cluster.h"
#include "sim/serving/prompt_contents.h"
#include "sim/serving/rate_limiter.h"
#include "sim/serving/run_limits.h"
#include "sim/workload/request.h"

namespace blockyard::serving {

// What becomes of a request whose prompt + max_tokens exceed max_model_len.
//   clip      it generates as far as the limit, as in the engine; a prompt that leaves no room is rejected
//   reject    it is turned away, as by the engine's HTTP server
//   truncate  its prompt loses its beginning, down to one token; what max_tokens still exceeds is clipped
enum class OverLength { clip, reject, truncate };

struct AdmissionOptions {
  Tokens max_model_len;                   // as the engine is told
  Tokens longest_sequence;                // prompt + output that it really lets a sequence reach
  Tokens longest_prompt;                  // a longer one is rejected: no token could be generated
  std::int64_t seats = INT64_MAX;         // a request of more samples than the engine has seats never fits
  std::optional<std::int64_t> max_queue;  // waiting requests; one more is rejected
  bool reject_never_fits = true;          // false: such a request waits, as in the engine
  std::int64_t watermark_grains = 0;
  OverLength over_length = OverLength::clip;
  RateLimit rate_limit;
  bool arrivals_overtake = false;        // the order of the queue may put an arrival before all who wait
  SimTime front_end;                     // what a request takes from its client to the engine
  std::optional<SimTime> abandon_after;  // a client leaves that has waited this long without a first token
};

struct RunProgress {
  SimTime now;
  std::int64_t arrived = 0;
  std::int64_t finished = 0;
};

// A request that was let in or turned away at the door for its length; the first step that can see it has this number,
// from 0.
struct ArrivalSeen {
  RequestId id{};
  const workload::Request* request = nullptr;
  std::int64_t step = 0;
};
using ArrivalListener = std::function<void(const ArrivalSeen&)>;

// How a run ended.
struct RunEnd {
  SimTime end;
  bool interrupted = false;
  std::string stuck;            // why no progress was possible, "" if all went well
  std::int64_t cut = 0;         // requests let in whose prompt and output together are longer than any sequence may be
  std::int64_t truncated = 0;   // prompts that lost their beginning
  std::int64_t with_delay = 0;  // requests that state a delay after an answer, whether or not it was waited for
  std::string stopped;          // which limit ended it, "" if none did
};

class Simulation {
 public:
  // `contents`: nullptr without a prefix cache. `clients`: between `requests` and the engine where answers matter, else
  // nullptr; then replicas tell of ends. `memory`: of one of them, all being alike.
  Simulation(const AdmissionOptions& admission, workload::RequestSource& requests, Cluster& cluster, kv::Memory& memory,
             metrics::Collector& collector, PromptContents* contents, Clients* clients);

  // `go_on` is asked after the first event, every few thousand more, and told of the end; false ends the run with what
  // is done.
  RunEnd run(const std::function<bool(const RunProgress&)>& go_on);
  // Ends the run early. With a limit that counts ends, replicas tell of them.
  void limit(const RunLimits& limits);
  // Is told of every arrival, before it is let in.
  void listen(ArrivalListener listener) { listener_ = std::move(listener); }

 private:
  struct Arrival {};
  struct StepEnd {
    std::uint32_t stepper = 0;
  };
  struct Abandon {};
  struct ClientActs {};
  struct Publish {};
  struct TimeUp {};
  using Payload = std::variant<Arrival, StepEnd, Abandon, ClientActs, Publish, TimeUp>;
  // At one instant arrivals come first, and a client whose patience ends as its first token comes stays.
  static constexpr std::uint32_t kArrivalRank = 0;         // of what clients do, too
  static constexpr std::uint32_t kStepRank = 1;            // of replica 0; the others follow in their order
  static constexpr std::uint32_t kAbandonRank = 1U << 20;  // behind every replica's
  static constexpr std::uint32_t kPublishRank = kAbandonRank + 1;
  static constexpr std::uint32_t kTimeUpRank = kPublishRank + 1;

  bool refill();
  [[nodiscard]] bool is_over();
  [[nodiscard]] bool reading_was_interrupted() const {
    return read_interrupted_ || (clients_ != nullptr && clients_->interrupted());
  }
  void schedule_arrival();
  void arrive(SimTime now);
  void deliver(SimTime now);
  void hear_of_ends();
  void let_clients_act(SimTime now);
  void let_in(SimTime now, const workload::Request& sent);
  void step(SimTime now, std::uint32_t stepper);
  void expect_step_end(SimTime end, std::uint32_t stepper);
  void expect_publication(SimTime now);
  void publish(SimTime now);
  [[nodiscard]] bool help_is_due() const;
  void abandon(SimTime now);
  [[nodiscard]] metrics::RejectReason why_rejected(const workload::Request& request);
  [[nodiscard]] bool never_fits(const workload::Request& request) const;
  // The request as it is let in: under OverLength::truncate its prompt may be shorter.
  [[nodiscard]] workload::Request fitted(workload::Request request);

  AdmissionOptions admission_;
  workload::RequestSource* requests_;
  Cluster* cluster_;
  kv::Memory* memory_;
  metrics::Collector* collector_;
  PromptContents* contents_;
  Clients* clients_;
  std::deque<workload::Request> on_the_way_;  // sent by clients, not yet at the engine
  SimTime clients_pending_ = kNever;          // the earliest event at which they act
  std::optional<SimTime> time_limit_;
  std::optional<EnoughSeen> enough_;
  ArrivalListener listener_;
  engine::EventQueue<Payload> events_;
  std::array<workload::Request, 256> buffer_;
  std::size_t buffered_ = 0;
  std::size_t next_ = 0;
  std::vector<bool> step_pending_;  // by who steps: a replica, or all together
  bool publication_pending_ = false;
  std::deque<std::pair<SimTime, RequestId>>
      patience_;  // when it ends, in order of arrival; an event is pending for the first
  std::int64_t cut_ = 0;
  std::int64_t arrived_ = 0;
  std::int64_t truncated_ = 0;
  bool read_interrupted_ = false;
  RateLimiter rate_limiter_;
  std::int64_t with_delay_ = 0;
};

}  // namespace blockyard::serving
