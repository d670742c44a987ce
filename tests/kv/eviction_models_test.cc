// The classic policies against models written down naively from their papers, on unrelated keys: the same hits,
// reference by reference, at every capacity.
#include <catch2/catch.hpp>
#include <deque>
#include <map>

#include "sim/base/random.h"
#include "sim/kv/eviction/frequency_sketch.h"
#include "sim/kv/eviction/policies.h"
#include "tests/kv/random_references.h"

namespace blockyard::kv {
namespace {

using Key = std::int64_t;
using Keys = std::vector<Key>;
using Queue = std::deque<Key>;  // the oldest in front

bool has(const Queue& queue, Key key) { return std::ranges::find(queue, key) != queue.end(); }
void take(Queue& queue, Key key) { queue.erase(std::ranges::find(queue, key)); }
Key pop(Queue& queue) {
  const Key key = queue.front();
  queue.pop_front();
  return key;
}
std::int64_t size(const Queue& queue) { return static_cast<std::int64_t>(queue.size()); }

// A model answers whether a key was there, and keeps it.
struct Model {
  explicit Model(std::int64_t capacity) : c(capacity) {}
  virtual ~Model() = default;
  virtual bool ask(Key key) = 0;
  std::int64_t c;
};

struct LruModel : Model {
  using Model::Model;
  bool ask(Key key) override {
    const bool hit = has(q, key);
    if (hit) take(q, key);
    if (size(q) == c) pop(q);
    q.push_back(key);
    return hit;
  }
  Queue q;
};

struct FifoModel : Model {
  using Model::Model;
  bool ask(Key key) override {
    if (has(q, key)) return true;
    if (size(q) == c) pop(q);
    q.push_back(key);
    return false;
  }
  Queue q;
};

struct MruModel : Model {
  using Model::Model;
  bool ask(Key key) override {
    const bool hit = has(q, key);
    if (hit) take(q, key);
    if (size(q) == c) q.pop_back();
    q.push_back(key);
    return hit;
  }
  Queue q;
};

struct ClockModel : Model {  // pages in a circle, a hand
  using Model::Model;
  bool ask(Key key) override {
    for (auto& [page, bit] : circle) {
      if (page != key) continue;
      bit = true;
      return true;
    }
    if (static_cast<std::int64_t>(circle.size()) < c) {
      circle.push_back({key, false});
      return false;
    }
    while (circle[hand].second) {
      circle[hand].second = false;
      hand = (hand + 1) % circle.size();
    }
    circle[hand] = {key, false};
    hand = (hand + 1) % circle.size();
    return false;
  }
  std::vector<std::pair<Key, bool>> circle;
  std::size_t hand = 0;
};

struct SieveModel : Model {  // the paper's queue: head = youngest = back
  using Model::Model;
  bool ask(Key key) override {
    if (has(q, key)) {
      visited[key] = true;
      return true;
    }
    if (size(q) == c) {
      if (hand >= q.size()) hand = 0;
      while (visited[q[hand]]) {
        visited[q[hand]] = false;
        hand = hand + 1 == q.size() ? 0 : hand + 1;
      }
      q.erase(q.begin() + static_cast<std::ptrdiff_t>(hand));  // the hand now stands on the next younger
      if (hand == q.size()) hand = SIZE_MAX;                   // beyond the head: starts from the tail again
    }
    q.push_back(key);
    visited[key] = false;
    return false;
  }
  Queue q;
  std::map<Key, bool> visited;
  std::size_t hand = SIZE_MAX;
};

struct S3FifoModel : Model {
  explicit S3FifoModel(std::int64_t capacity)
      : Model(capacity), small_limit(std::max<std::int64_t>(1, capacity / 10)) {}
  bool ask(Key key) override {
    if (has(s, key) || has(m, key)) {
      freq[key] = std::min(freq[key] + 1, 3);
      return true;
    }
    const bool ghost = has(g, key);
    if (ghost) take(g, key);
    while (size(s) + size(m) >= c) evict();
    (ghost ? m : s).push_back(key);
    freq[key] = 0;
    return false;
  }
  void evict() {
    if (size(s) >= small_limit || m.empty()) {
      while (!s.empty()) {
        const Key t = pop(s);
        if (freq[t] > 1) {
          freq[t] = 0;
          m.push_back(t);
          continue;
        }
        g.push_back(t);
        if (size(g) > c - small_limit) pop(g);
        return;
      }
      return;
    }
    for (;;) {
      const Key t = pop(m);
      if (freq[t] == 0) return;
      --freq[t];
      m.push_back(t);
    }
  }
  std::int64_t small_limit;
  Queue s;
  Queue m;
  Queue g;
  std::map<Key, int> freq;
};

struct SlruModel : Model {
  using Model::Model;
  bool ask(Key key) override {
    if (has(safe, key) || has(trial, key)) {
      take(has(safe, key) ? safe : trial, key);
      safe.push_back(key);
      if (size(safe) > c * 4 / 5) trial.push_back(pop(safe));
      return true;
    }
    if (size(safe) + size(trial) == c) pop(trial.empty() ? safe : trial);
    trial.push_back(key);
    return false;
  }
  Queue safe;
  Queue trial;
};

struct TwoQModel : Model {
  using Model::Model;
  bool ask(Key key) override {
    if (has(am, key)) {
      take(am, key);
      am.push_back(key);
      return true;
    }
    if (has(in, key)) return true;
    const bool known = has(out, key);
    if (known) take(out, key);
    if (size(am) + size(in) == c) {
      if (size(in) > c / 4 || am.empty()) {
        out.push_back(pop(in));
        if (size(out) > c / 2) pop(out);
      } else {
        pop(am);
      }
    }
    (known ? am : in).push_back(key);
    return false;
  }
  Queue in;
  Queue out;
  Queue am;
};

struct ArcModel : Model {  // figure 4, case by case
  using Model::Model;
  bool ask(Key x) override {
    if (has(t1, x) || has(t2, x)) {
      take(has(t1, x) ? t1 : t2, x);
      t2.push_back(x);
      return true;
    }
    const auto n1 = static_cast<double>(b1.size());
    const auto n2 = static_cast<double>(b2.size());
    if (has(b1, x)) {
      p = std::min(static_cast<double>(c), p + (n1 >= n2 ? 1 : n2 / n1));
      replace(false);
      take(b1, x);
      t2.push_back(x);
      return false;
    }
    if (has(b2, x)) {
      p = std::max(0.0, p - (n2 >= n1 ? 1 : n1 / n2));
      replace(true);
      take(b2, x);
      t2.push_back(x);
      return false;
    }
    if (size(t1) + size(b1) == c) {
      if (size(t1) < c) {
        pop(b1);
        replace(false);
      } else {
        pop(t1);
      }
    } else if (size(t1) + size(t2) + size(b1) + size(b2) >= c) {
      if (size(t1) + size(t2) + size(b1) + size(b2) == 2 * c) pop(b2);
      replace(false);
    }
    t1.push_back(x);
    return false;
  }
  void replace(bool in_b2) {
    const auto n = static_cast<double>(t1.size());
    if (!t1.empty() && ((in_b2 && n == p) || n > p)) {
      b1.push_back(pop(t1));
    } else {
      b2.push_back(pop(t2));
    }
  }
  Queue t1;
  Queue t2;
  Queue b1;
  Queue b2;
  double p = 0;
};

struct LfuModel : Model {  // dynamic ageing
  using Model::Model;
  bool ask(Key key) override {
    ++now;
    if (const auto found = pages.find(key); found != pages.end()) {
      Page& page = found->second;
      page = {page.count + 1, page.count + 1 + age, now};
      return true;
    }
    if (static_cast<std::int64_t>(pages.size()) == c) {
      const auto least = std::ranges::min_element(pages, [](const auto& a, const auto& b) {
        return std::pair(a.second.key, a.second.used) < std::pair(b.second.key, b.second.used);
      });
      age = least->second.key;
      pages.erase(least);
    }
    pages[key] = {1, 1 + age, now};
    return false;
  }
  struct Page {
    std::int64_t count, key, used;
  };
  std::map<Key, Page> pages;
  std::int64_t age = 0;
  std::int64_t now = 0;
};

struct LruKModel : Model {
  using Model::Model;
  bool ask(Key key) override {
    ++now;
    const bool hit = pages.contains(key);
    if (!hit) {
      std::int64_t before = 0;
      if (has(gone, key)) {
        before = last_of_gone[key];
        take(gone, key);
      }
      if (static_cast<std::int64_t>(pages.size()) == c) {
        const auto victim =
            std::ranges::min_element(pages, [](const auto& a, const auto& b) { return a.second < b.second; });
        last_of_gone[victim->first] = victim->second.second;
        gone.push_back(victim->first);
        if (size(gone) > c) pop(gone);
        pages.erase(victim);
      }
      pages[key] = {0, before};
    }
    pages[key] = {pages[key].second, now};
    return hit;
  }
  std::map<Key, std::pair<std::int64_t, std::int64_t>> pages;  // last but one use, last use
  Queue gone;
  std::map<Key, std::int64_t> last_of_gone;
  std::int64_t now = 0;
};

struct WTinyLfuModel : Model {
  explicit WTinyLfuModel(std::int64_t capacity)
      : Model(capacity), window_limit(std::max<std::int64_t>(1, capacity / 100)), sketch(capacity) {}
  bool ask(Key key) override {
    sketch.add(static_cast<std::uint64_t>(key));
    for (Queue* queue : {&window, &safe}) {
      if (!has(*queue, key)) continue;
      take(*queue, key);
      queue->push_back(key);
      return true;
    }
    if (has(trial, key)) {
      take(trial, key);
      safe.push_back(key);
      if (size(safe) > (c - window_limit) * 4 / 5) trial.push_back(pop(safe));
      return true;
    }
    window.push_back(key);
    if (size(window) <= window_limit) {
      if (size(window) + size(trial) + size(safe) > c) pop(trial.empty() ? safe : trial);
      return false;
    }
    const Key candidate = pop(window);
    if (size(window) + size(trial) + size(safe) < c) {
      trial.push_back(candidate);
      return false;
    }
    Queue& victims = trial.empty() ? safe : trial;
    if (victims.empty()) return false;
    const auto often = [&](Key k) { return sketch.count(static_cast<std::uint64_t>(k)); };
    if (often(candidate) > often(victims.front())) {
      pop(victims);
      trial.push_back(candidate);
    }
    return false;
  }
  std::int64_t window_limit;
  FrequencySketch sketch;
  Queue window;
  Queue trial;
  Queue safe;
};

template <class M>
void compare(const char* name) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    RandomStream random(seed, "keys");
    Keys keys = random_keys(random, 2000, 60);
    for (Key& key : keys) key += 1;
    // Numbers by first occurrence, as the cache numbers contents: the sketch hashes them.
    std::map<Key, Key> number;
    for (Key& key : keys) key = number.emplace(key, static_cast<Key>(number.size())).first->second;
    for (const std::int64_t capacity : {1, 2, 3, 5, 8, 13, 21, 34, 55, 110}) {
      INFO(name << ", capacity " << capacity << ", seed " << seed);
      M model(capacity);
      std::int64_t hits = 0;
      for (const Key key : keys) hits += model.ask(key) ? 1 : 0;
      CacheRunOptions options;
      options.capacity = capacity;
      REQUIRE(find_eviction(name)->run(single_blocks(keys), options).hit_blocks == hits);
      // The same hits in sum could be others: also of every beginning of the sequence.
      M again(capacity);
      hits = 0;
      for (std::size_t n = 0; n < 120; ++n) hits += again.ask(keys[n]) ? 1 : 0;
      REQUIRE(find_eviction(name)->run(single_blocks(Keys(keys.begin(), keys.begin() + 120)), options).hit_blocks ==
              hits);
    }
  }
}

TEST_CASE("lru as its model") { compare<LruModel>("lru"); }
TEST_CASE("leaf_lru on unrelated blocks is lru") { compare<LruModel>("leaf_lru"); }
TEST_CASE("fifo as its model") { compare<FifoModel>("fifo"); }
TEST_CASE("mru as its model") { compare<MruModel>("mru"); }
TEST_CASE("clock as its model") { compare<ClockModel>("clock"); }
TEST_CASE("sieve as its model") { compare<SieveModel>("sieve"); }
TEST_CASE("s3_fifo as its model") { compare<S3FifoModel>("s3_fifo"); }
TEST_CASE("slru as its model") { compare<SlruModel>("slru"); }
TEST_CASE("2q as its model") { compare<TwoQModel>("2q"); }
TEST_CASE("arc as its model") { compare<ArcModel>("arc"); }
TEST_CASE("lfu as its model") { compare<LfuModel>("lfu"); }
TEST_CASE("gdsf with blocks of equal cost is lfu") { compare<LfuModel>("gdsf"); }
TEST_CASE("lru_k as its model") { compare<LruKModel>("lru_k"); }
TEST_CASE("w_tinylfu as its model") { compare<WTinyLfuModel>("w_tinylfu"); }

TEST_CASE("the frequency sketch never counts too little, and forgets by halves") {
  FrequencySketch sketch(100);
  std::map<std::uint64_t, std::uint64_t> counts;
  RandomStream random(3, "sketch");
  for (int i = 0; i < 900; ++i) {
    const auto key = static_cast<std::uint64_t>(std::min(random.integer(0, 99), random.integer(0, 99)));
    sketch.add(key);
    ++counts[key];
    CHECK(sketch.count(key) >= std::min<std::uint64_t>(counts[key], 15));
  }
  const std::uint64_t before = sketch.count(0);
  for (int i = 0; i < 100; ++i) sketch.add(1'000'000);  // the thousandth key halves all counts
  CHECK(sketch.count(0) <= before / 2 + 1);
}

}  // namespace
}  // namespace blockyard::kv
