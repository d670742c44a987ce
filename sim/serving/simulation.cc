#include "sim/serving/simulation.h"

#include <algorithm>

#include "sim/sched/scheduler.h"
#include "sim/workload/byte_source.h"

namespace blockyard::serving {
namespace {
constexpr std::int64_t kEventsBetweenQuestions = 4096;
}  // namespace

Simulation::Simulation(const AdmissionOptions& admission, workload::RequestSource& requests, Cluster& cluster,
                       kv::Memory& memory, metrics::Collector& collector, PromptContents* contents, Clients* clients)
    : admission_(admission),
      requests_(&requests),
      cluster_(&cluster),
      memory_(&memory),
      collector_(&collector),
      contents_(contents),
      clients_(clients),
      step_pending_(cluster.size()),
      rate_limiter_(admission.rate_limit) {}

RunEnd Simulation::run(const std::function<bool(const RunProgress&)>& go_on) {
  RunEnd result;
  if (clients_ == nullptr) {
    schedule_arrival();
  } else {
    let_clients_act(SimTime(0));
  }
  if (time_limit_) events_.push(*time_limit_, kTimeUpRank, TimeUp{});
  std::int64_t events = 0;
  while (!events_.empty() && !reading_was_interrupted()) {
    const auto event = events_.pop();
    if (std::holds_alternative<TimeUp>(event.payload)) {
      if (is_over()) break;
      result.stopped = fmt::format("run.max_time: {:.6g} s were over", to_seconds(event.time));
      result.end = event.time;
      break;
    }
    // Patience that ends after everybody has been served is not an event of the run, nor what clients do at home.
    bool of_the_run = !std::holds_alternative<ClientActs>(event.payload);
    if (std::holds_alternative<Arrival>(event.payload)) {
      if (clients_ == nullptr) {
        arrive(event.time);
      } else {
        deliver(event.time);
      }
    } else if (const auto* const ends = std::get_if<StepEnd>(&event.payload)) {
      step(event.time, ends->stepper);
    } else if (std::holds_alternative<Abandon>(event.payload)) {
      of_the_run = cluster_->unfinished() > 0;
      abandon(event.time);
    } else if (std::holds_alternative<Publish>(event.payload)) {
      of_the_run = false;
      publish(event.time);
    }
    hear_of_ends();
    if (clients_ != nullptr) let_clients_act(event.time);
    if (of_the_run) result.end = event.time;
    if (!cluster_->stuck().empty()) {
      result.stuck = cluster_->stuck();
      break;
    }
    if (enough_ && !enough_->why().empty()) {
      result.stopped = enough_->why();
      break;
    }
    if (events++ % kEventsBetweenQuestions == 0 && !go_on({event.time, arrived_, cluster_->finished()})) {
      result.interrupted = true;
      break;
    }
  }
  result.interrupted = result.interrupted || reading_was_interrupted();
  result.truncated = truncated_;
  result.cut = cut_;
  // Steps that were run through at once are no events.
  result.end = std::max(result.end, cluster_->reached());
  result.with_delay = with_delay_;
  collector_->advance(result.end);
  if (!result.interrupted) (void)go_on({result.end, arrived_, cluster_->finished()});
  return result;
}

void Simulation::limit(const RunLimits& limits) {
  time_limit_ = limits.time;
  if (limits.count_ends()) enough_.emplace(limits);
}

// Nothing runs, and nothing is to come.
bool Simulation::is_over() {
  const bool stepping = std::ranges::find(step_pending_, true) != step_pending_.end() || cluster_->any_step_in_flight();
  if (cluster_->unfinished() > 0 || stepping || !on_the_way_.empty()) return false;
  return clients_ == nullptr ? !refill() : clients_->next_time() == kNever;
}

bool Simulation::refill() {
  if (next_ < buffered_) return true;
  next_ = 0;
  buffered_ = 0;
  try {
    buffered_ = requests_->read(buffer_);
  } catch (const workload::ReadInterrupted&) {
    read_interrupted_ = true;
  }
  return buffered_ > 0;
}

void Simulation::schedule_arrival() {
  if (refill()) events_.push(buffer_[next_].arrival + admission_.front_end, kArrivalRank, Arrival{});
}

// All requests of one instant; then the next arrival is scheduled.
void Simulation::arrive(SimTime now) {
  while (refill() && buffer_[next_].arrival + admission_.front_end == now) {
    const workload::Request& request = buffer_[next_++];
    let_in(now, request);
  }
  schedule_arrival();
}

// The requests that clients have sent `front_end` ago.
void Simulation::deliver(SimTime now) {
  while (!on_the_way_.empty() && on_the_way_.front().arrival + admission_.front_end == now) {
    const workload::Request request = on_the_way_.front();
    on_the_way_.pop_front();
    let_in(now, request);
  }
}

void Simulation::hear_of_ends() {
  for (const Replica::Ended& ended : cluster_->ended()) {
    if (clients_ != nullptr) clients_->ended(ended.time, ended.request);
    if (enough_) enough_->ended(collector_->records()[index_of(ended.request)]);
  }
  cluster_->ended().clear();
}

// After every event: clients send what is due.
void Simulation::let_clients_act(SimTime now) {
  if (now >= clients_pending_) clients_pending_ = kNever;
  while (const std::optional<workload::Request> request = clients_->send(now)) {
    if (on_the_way_.empty() || on_the_way_.back().arrival < now)
      events_.push(now + admission_.front_end, kArrivalRank, Arrival{});
    on_the_way_.push_back(*request);
  }
  const SimTime next = clients_->next_time();
  if (next >= clients_pending_) return;
  events_.push(next, kArrivalRank, ClientActs{});
  clients_pending_ = next;
}

void Simulation::let_in(SimTime now, const workload::Request& sent) {
  const workload::Request request = fitted(sent);
  ++arrived_;
  if (request.delay >= SimTime(0)) ++with_delay_;
  const metrics::RecordId record =
      collector_->arrived(now, request.prompt_tokens, request.samples, {request.tenant, request.slo_class});
  const auto id = static_cast<RequestId>(record);
  const metrics::RejectReason reason = why_rejected(request);
  if (contents_ != nullptr) {
    const kv::SequenceNeed need = sched::need_of(request, admission_.longest_sequence);
    contents_->arrived(id, request, need.true_end - need.prompt + Tokens(1));
  }
  if (listener_) listener_({id, &request, cluster_->steps_started()});
  if (reason != metrics::RejectReason::none) {
    collector_->rejected(record, now, reason);
    if (contents_ != nullptr) contents_->ended(id);
    if (clients_ != nullptr) clients_->ended(now, id);
    return;
  }
  if (request.prompt_tokens + request.output_tokens > admission_.longest_sequence) ++cut_;
  const std::size_t stepper = cluster_->stepper_of(cluster_->arrive(now, id, request));
  if (cluster_->publishes_every() != kNever) expect_publication(now);
  if (admission_.abandon_after) {
    const SimTime since = request.arrival;
    const SimTime until =
        *admission_.abandon_after < kNever - since ? std::max(now, since + *admission_.abandon_after) : kNever;
    if (patience_.empty()) events_.push(until, kAbandonRank, Abandon{});
    patience_.emplace_back(until, id);
  }
  if (!cluster_->step_in_flight(stepper) && !step_pending_[stepper])
    expect_step_end(now, static_cast<std::uint32_t>(stepper));
}

void Simulation::abandon(SimTime now) {
  for (; !patience_.empty() && patience_.front().first == now; patience_.pop_front()) {
    cluster_->abandon(now, patience_.front().second);
  }
  if (!patience_.empty()) events_.push(patience_.front().first, kAbandonRank, Abandon{});
}

// Whoever cannot be admitted may leave, or be overtaken by one who can.
bool Simulation::help_is_due() const {
  if (!patience_.empty() && patience_.front().first != kNever) return true;
  if (!admission_.arrivals_overtake) return false;
  if (clients_ == nullptr) return next_ < buffered_;
  return !on_the_way_.empty() || clients_->next_time() != kNever;
}

void Simulation::step(SimTime now, std::uint32_t stepper) {
  step_pending_[stepper] = false;
  const SimTime end = cluster_->begin(stepper, now, events_.next_time(), help_is_due());
  if (end != kNever) expect_step_end(end, stepper);
}

void Simulation::expect_step_end(SimTime end, std::uint32_t stepper) {
  events_.push(end, kStepRank + stepper, StepEnd{stepper});
  step_pending_[stepper] = true;
}

// At the multiples of the router's interval, as long as anybody is unfinished.
void Simulation::expect_publication(SimTime now) {
  if (publication_pending_) return;
  const std::int64_t every = cluster_->publishes_every().count();
  events_.push(SimTime((now.count() / every + 1) * every), kPublishRank, Publish{});
  publication_pending_ = true;
}

void Simulation::publish(SimTime now) {
  cluster_->publish();
  publication_pending_ = false;
  if (cluster_->unfinished() > 0) expect_publication(now);
}

workload::Request Simulation::fitted(workload::Request request) {
  if (admission_.over_length != OverLength::truncate) return request;
  const Tokens room = std::max(Tokens(1), admission_.max_model_len - request.max_tokens);
  if (request.prompt_tokens <= room) return request;
  ++truncated_;
  request.prompt_tokens = room;
  // What it shared with others was its beginning.
  request.content = workload::ContentId::none;
  request.session = 0;
  request.prefix = 0;
  request.prefix_tokens = 0;
  return request;
}

// A request turned away for another reason takes nothing from its tenant's rate.
metrics::RejectReason Simulation::why_rejected(const workload::Request& request) {
  if (request.prompt_tokens > admission_.longest_prompt) return metrics::RejectReason::prompt_too_long;
  if (admission_.over_length == OverLength::reject &&
      request.prompt_tokens + request.max_tokens > admission_.max_model_len) {
    return metrics::RejectReason::over_length;
  }
  if (admission_.max_queue && cluster_->waiting() >= *admission_.max_queue) return metrics::RejectReason::queue_full;
  if (admission_.reject_never_fits && never_fits(request)) return metrics::RejectReason::never_fits;
  return rate_limiter_.admit(request) ? metrics::RejectReason::none : metrics::RejectReason::rate_limited;
}

bool Simulation::never_fits(const workload::Request& request) const {
  const kv::SequenceNeed need = sched::need_of(request, admission_.longest_sequence);
  if (request.samples > admission_.seats || !memory_->why_never(need).empty()) return true;
  return memory_->whole_demand(need) + admission_.watermark_grains > memory_->total_grains();
}

}  // namespace blockyard::serving
