// The queue orders: laws that all of them keep, and what each is for.
#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/sched/queue_order/longest_prefix.h"
#include "sim/sched/queue_order/predicted_length.h"
#include "sim/sched/waiting_queue.h"

using namespace blockyard;
using namespace blockyard::sched;

namespace {

const QueueOptions kOptions{0, 1, SimTime(1000), {SimTime(100), SimTime(5000)}, SimTime(500)};

Waiting waiting(std::uint32_t id, std::int64_t prompt, std::int64_t output, std::int32_t priority = 0,
                std::uint32_t tenant = 0) {
  Waiting w;
  w.id = static_cast<RequestId>(id);
  w.request.arrival = SimTime(static_cast<std::int64_t>(id));
  w.request.prompt_tokens = Tokens(prompt);
  w.request.output_tokens = w.request.max_tokens = Tokens(output);
  w.request.priority = priority;
  w.request.tenant = tenant;
  return w;
}

std::vector<std::size_t> drained(WaitingQueue& queue) {
  std::vector<std::size_t> ids;
  for (; queue.size() > 0; queue.pop_front()) ids.push_back(index_of(queue.front().id));
  return ids;
}

std::vector<std::size_t> order_of(const std::string& name, const std::vector<Waiting>& requests) {
  const auto queue = make_waiting_queue(name, kOptions);
  for (const Waiting& w : requests) queue->push(w);
  return drained(*queue);
}

using Ids = std::vector<std::size_t>;

// Prefixes as a test says.
class SaidPrefixes final : public CachedPrefixes {
 public:
  Tokens cached_prefix(Waiting& waiting) override {
    ++asked;
    return Tokens(cached[index_of(waiting.id)]);
  }
  [[nodiscard]] std::uint64_t changes() const override { return changed; }

  std::map<std::size_t, std::int64_t> cached;
  std::uint64_t changed = 0;
  int asked = 0;
};

}  // namespace

TEST_CASE("every order gives back each request that it holds once, wherever it is taken from") {
  for (const NameDoc& order : queue_orders()) {
    INFO(order.name);
    REQUIRE(rc::check(order.name, [&] {
      QueueOptions options = kOptions;
      options.prediction_cv = *rc::gen::element(0.0, 0.8);
      const auto queue = make_waiting_queue(order.name, options);
      std::set<std::size_t> held;
      std::vector<Waiting> out;  // admitted, as the scheduler holds them
      std::uint32_t next = 0;
      for (int i = *rc::gen::inRange(1, 80); i > 0; --i) {
        const int deed = *rc::gen::inRange(0, 6);
        if (deed < 3) {
          queue->push(waiting(next, *rc::gen::inRange(1, 50), *rc::gen::inRange(1, 50), *rc::gen::inRange(0, 3),
                              *rc::gen::inRange(0U, 3U)));
          held.insert(next++);
        } else if (deed == 3 && queue->size() > 0) {
          out.push_back(queue->front());
          RC_ASSERT(held.erase(index_of(queue->front().id)) == 1);
          queue->pop_front();
        } else if (deed == 4 && !out.empty()) {
          Waiting back = out.back();
          out.pop_back();
          back.generated += Tokens(1);
          if (*rc::gen::arbitrary<bool>()) {
            queue->push_preempted(back);
            held.insert(index_of(back.id));
          } else {
            queue->ended(back.request, back.id, back.generated);
          }
        } else if (deed == 5 && next > 0) {
          const std::size_t id = *rc::gen::inRange<std::size_t>(0, next);
          const auto removed = queue->remove(static_cast<RequestId>(id));
          RC_ASSERT(removed.has_value() == (held.erase(id) == 1));
          RC_ASSERT(!removed || index_of(removed->id) == id);
        }
        RC_ASSERT(queue->size() == static_cast<std::int64_t>(held.size()));
      }
      Ids ids = drained(*queue);
      std::sort(ids.begin(), ids.end());
      RC_ASSERT(ids == Ids(held.begin(), held.end()));
    }));
  }
}

TEST_CASE("each order, worked out on four requests") {
  // Outputs 40, 10, 30, 10; priorities 2, 1, 0, 1.
  const std::vector<Waiting> requests{waiting(0, 5, 40, 2), waiting(1, 5, 10, 1), waiting(2, 5, 30, 0),
                                      waiting(3, 5, 10, 1)};
  CHECK(order_of("fcfs", requests) == Ids{0, 1, 2, 3});
  CHECK(order_of("priority", requests) == Ids{2, 1, 3, 0});
  CHECK(order_of("sjf", requests) == Ids{1, 3, 2, 0});
  CHECK(order_of("srpt", requests) == Ids{1, 3, 2, 0});
  // Deadlines 2000, 1501, 1002, 1503.
  CHECK(order_of("edf", requests) == Ids{2, 1, 3, 0});
}

TEST_CASE("edf: the deadline is that of the request's class") {
  std::vector<Waiting> requests{waiting(0, 5, 40), waiting(1, 5, 10), waiting(2, 5, 30), waiting(3, 5, 10)};
  requests[0].request.slo_class = 2;  // 5000
  requests[2].request.slo_class = 1;  // 102
  requests[3].request.slo_class = 1;  // 103, the others 1001
  CHECK(order_of("edf", requests) == Ids{2, 3, 1, 0});
}

TEST_CASE("srpt counts what a preempted request has behind it, sjf does not") {
  Waiting nearly_done = waiting(0, 5, 40);
  nearly_done.generated = Tokens(35);
  for (const auto& [order, expected] : {std::pair<const char*, Ids>{"srpt", {0, 1}}, {"sjf", {1, 0}}}) {
    const auto queue = make_waiting_queue(order, kOptions);
    queue->push(waiting(1, 5, 10));
    queue->push_preempted(nearly_done);
    CHECK(drained(*queue) == expected);
  }
}

TEST_CASE("longest_prefix: at each step's beginning, the order of a plain sort by what is cached, then by arrival") {
  REQUIRE(rc::check([] {
    SaidPrefixes prefixes;
    QueueOptions options = kOptions;
    options.prefixes = &prefixes;
    LongestPrefix queue(options);
    std::set<std::size_t> held;
    std::uint32_t next = 0;
    const auto expected = [&] {
      Ids ids(held.begin(), held.end());
      if (queue.size() <= LongestPrefix::kMostLooked) {
        std::stable_sort(ids.begin(), ids.end(),
                         [&](std::size_t a, std::size_t b) { return prefixes.cached[a] > prefixes.cached[b]; });
      }
      return ids;
    };
    // Some steps stand around the length beyond which nobody is looked up.
    const std::int64_t from = *rc::gen::element<std::int64_t>(0, LongestPrefix::kMostLooked - 3);
    for (std::int64_t i = 0; i < from; ++i, ++next) {
      queue.push(waiting(next, 5, 5));
      held.insert(next);
    }
    for (int step = *rc::gen::inRange(1, 30); step > 0; --step) {
      for (int arrivals = *rc::gen::inRange(0, 4); arrivals > 0; --arrivals, ++next) {
        prefixes.cached[next] = 16 * *rc::gen::inRange<std::int64_t>(0, 4);
        queue.push(waiting(next, 5, 5));
        held.insert(next);
      }
      if (next > 0 && *rc::gen::arbitrary<bool>()) {
        ++prefixes.changed;
        for (int changes = *rc::gen::inRange(0, 3); changes > 0; --changes) {
          prefixes.cached[*rc::gen::inRange(0U, next)] = 16 * *rc::gen::inRange<std::int64_t>(0, 4);
        }
      }
      const std::size_t before = held.empty() ? 0 : index_of(queue.front().id);
      const bool moved = queue.look_again();
      RC_ASSERT(moved == (!held.empty() && index_of(queue.front().id) != before));
      const Ids order = expected();
      for (int admitted = *rc::gen::inRange(0, 3); admitted > 0 && queue.size() > 0; --admitted) {
        const std::size_t first = index_of(queue.front().id);
        RC_ASSERT(first == order[order.size() - held.size()]);
        held.erase(first);
        queue.pop_front();
      }
    }
  }));
}

TEST_CASE("longest_prefix: nobody is looked up again where nothing has changed, nor beyond 128 who wait") {
  SaidPrefixes prefixes;
  QueueOptions options = kOptions;
  options.prefixes = &prefixes;
  LongestPrefix queue(options);
  for (std::uint32_t i = 0; i < 100; ++i) queue.push(waiting(i, 5, 5));
  queue.look_again();
  CHECK(prefixes.asked == 100);
  for (int step = 0; step < 10; ++step) queue.look_again();
  CHECK(prefixes.asked == 100);
  for (std::uint32_t i = 100; i < 129; ++i) queue.push(waiting(i, 5, 5));
  ++prefixes.changed;
  queue.look_again();
  CHECK(prefixes.asked == 100);
}

TEST_CASE("fair: a tenant of small requests is served as many tokens as one of large ones") {
  // Tenant 0 asks for 90 + 2 x 5 = 100 a time, tenant 1 for 5 + 2 x 10 = 25. Both wait all the time: one request of the
  // first goes with four of the second. Their counters never part by more than a request.
  const auto queue = make_waiting_queue("fair", kOptions);
  for (std::uint32_t i = 0; i < 40; ++i) queue->push(waiting(i, 90, 5, 0, 0));
  for (std::uint32_t i = 40; i < 80; ++i) queue->push(waiting(i, 5, 10, 0, 1));
  std::int64_t served[2] = {0, 0};
  for (int i = 0; i < 45; ++i) {
    const std::uint32_t tenant = queue->front().request.tenant;
    served[tenant] += tenant == 0 ? 100 : 25;
    queue->pop_front();
    CHECK(std::abs(served[0] - served[1]) <= 100);
  }
  CHECK(served[0] == 900);
  CHECK(served[1] == 900);
}

TEST_CASE("fair: idleness saves up nothing, and a wrong prediction is put right") {
  const auto queue = make_waiting_queue("fair", kOptions);
  for (std::uint32_t i = 0; i < 20; ++i) queue->push(waiting(i, 10, 5, 0, 0));
  for (int i = 0; i < 10; ++i) queue->pop_front();  // tenant 0 has had 200
  for (std::uint32_t i = 20; i < 30; ++i) queue->push(waiting(i, 10, 5, 0, 1));
  // Tenant 1 is lifted to 200: they take turns from now on.
  std::int64_t first = 0;
  for (int i = 0; i < 8; ++i, queue->pop_front()) first += queue->front().request.tenant == 0 ? 1 : 0;
  CHECK(first == 4);
  // A request of tenant 1 ended 5 tokens earlier than predicted: it gets 10 back, half a request, and so the next turn.
  queue->ended(waiting(20, 10, 5, 0, 1).request, static_cast<RequestId>(20), Tokens(0));
  CHECK(queue->front().request.tenant == 1);
}

TEST_CASE("predictions: the truth without error; else of the given mean and spread, and always the same") {
  QueueOptions options;
  options.seed = 5;
  const workload::Request request = waiting(0, 1, 1000).request;
  CHECK(predicted_output(request, static_cast<RequestId>(3), options) == Tokens(1000));
  options.prediction_cv = 0.5;
  double sum = 0;
  double squares = 0;
  constexpr int kDraws = 20'000;
  for (std::uint32_t id = 0; id < kDraws; ++id) {
    const auto predicted = static_cast<double>(predicted_output(request, static_cast<RequestId>(id), options).count());
    sum += predicted;
    squares += predicted * predicted;
  }
  const double mean = sum / kDraws;
  // Standard error of the mean: 500 / sqrt(20,000) = 3.5.
  CHECK(mean == Approx(1000).margin(14));
  CHECK(std::sqrt(squares / kDraws - mean * mean) / mean == Approx(0.5).margin(0.03));
  CHECK(predicted_output(request, static_cast<RequestId>(9), options) ==
        predicted_output(request, static_cast<RequestId>(9), options));
}
