#include "sim/workload/mixture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <string>
#include <utility>

#include "sim/workload/byte_source.h"
#include "sim/workload/line_reader.h"
#include "sim/workload/servegen_client.h"

namespace blockyard::workload {
namespace {

constexpr std::int64_t kMostClients = 100'000;
constexpr std::int64_t kMostBeginnings = 10'000'000;  // kept by each client
constexpr double kLongestSpanSeconds = 1e8;           // as of one generator
constexpr double kMostNumbers = std::numeric_limits<std::uint32_t>::max();

class ServeGenSource final : public RequestSource {
 public:
  ServeGenSource(const ServeGenClient& client, std::uint64_t seed, double rate_scale)
      : requests_(client, seed, rate_scale) {}

  std::size_t read(std::span<Request> out) override {
    std::size_t count = 0;
    for (; count < out.size(); ++count) {
      const auto drawn = requests_.next();
      if (!drawn) break;
      Request& request = out[count] = Request{};
      request.arrival = drawn->time;
      request.prompt_tokens = Tokens(std::max<std::int64_t>(1, drawn->prompt_tokens));
      request.output_tokens = request.max_tokens = Tokens(std::max<std::int64_t>(1, drawn->output_tokens));
    }
    return count;
  }

 private:
  ServeGenRequests requests_;
};

// A client in the mixture: the requests that are next of it, and what makes its numbers its own.
class Member {
 public:
  Member(std::unique_ptr<RequestSource> source, std::uint32_t tenant, std::int32_t priority)
      : source_(std::move(source)), tenant_(tenant), priority_(priority) {}

  // Session k of this client becomes (k - 1) x every + first.
  void number_sessions(std::uint32_t first, std::uint32_t every) {
    first_session_ = first;
    sessions_ = every;
  }
  void number_beginnings(std::uint32_t before) { beginnings_ = before; }

  [[nodiscard]] bool fill() {
    ahead_.resize(kAhead);
    ahead_.resize(source_->read(ahead_));
    at_ = 0;
    return !ahead_.empty();
  }
  [[nodiscard]] SimTime next_time() const { return ahead_[at_].arrival; }
  // Is there another one behind it?
  bool take(Request& out) {
    out = ahead_[at_++];
    out.tenant = tenant_;
    out.priority = priority_;
    if (out.session != 0) {
      const std::uint64_t session = std::uint64_t{out.session - 1} * sessions_ + first_session_;
      if (session > std::numeric_limits<std::uint32_t>::max())
        throw InputError({}, "clients: more sessions than 32 bits can number");
      out.session = static_cast<std::uint32_t>(session);
    }
    if (out.prefix != 0) out.prefix += beginnings_;
    return at_ < ahead_.size() || fill();
  }

 private:
  static constexpr std::size_t kAhead = 16;

  std::unique_ptr<RequestSource> source_;
  std::uint32_t tenant_;
  std::int32_t priority_;
  std::uint32_t first_session_ = 1;
  std::uint32_t sessions_ = 1;
  std::uint32_t beginnings_ = 0;
  std::vector<Request> ahead_;
  std::size_t at_ = 0;
};

class Mixture final : public RequestSource {
 public:
  Mixture(std::vector<Member> members, std::int64_t requests) : members_(std::move(members)), left_(requests) {
    for (std::uint32_t i = 0; i < members_.size(); ++i) {
      if (members_[i].fill()) next_.push({members_[i].next_time(), i});
    }
    if (!next_.empty()) start_ = next_.top().time;
  }

  std::size_t read(std::span<Request> out) override {
    std::size_t count = 0;
    for (; count < out.size() && left_ > 0 && !next_.empty(); ++count, --left_) {
      const Next next = next_.top();
      next_.pop();
      Member& member = members_[next.member];
      const bool goes_on = member.take(out[count]);
      out[count].arrival -= start_;
      if (goes_on) next_.push({member.next_time(), next.member});
    }
    return count;
  }

 private:
  struct Next {
    SimTime time;
    std::uint32_t member;  // of equal times the one that stands first in the list
    bool operator>(const Next& other) const { return time != other.time ? time > other.time : member > other.member; }
  };

  std::vector<Member> members_;
  std::int64_t left_;
  std::priority_queue<Next, std::vector<Next>, std::greater<>> next_;
  SimTime start_;  // of the first request
};

// A line of the list, its rate known.
struct Line {
  const ClientSpec* spec;
  std::vector<ServeGenClient> measured;  // of ServeGen
  std::optional<double> rate_per_s;      // its own, of all its clients
  double factor = 1;                     // on all its rates
  std::string name;                      // "clients[2]"

  [[nodiscard]] bool generated() const { return spec->servegen.empty(); }
  // The share of each of its `count` clients, of the g-th from 1.
  [[nodiscard]] double part(std::int64_t g) const { return std::pow(static_cast<double>(g), -spec->zipf); }
};

class Population {
 public:
  explicit Population(const MixtureSpec& spec) : spec_(spec) {
    if (spec.requests < 0) fail("requests: found {}, expected 0 or more", spec.requests);
    if (spec.clients.empty()) fail("clients: expected one at least");
    for (std::size_t i = 0; i < spec.clients.size(); ++i) {
      lines_.push_back({&spec.clients[i], {}, {}, 1, fmt::format("clients[{}]", i)});
      check_line(lines_.back());
    }
    check_rates();
    errors_.throw_if_any();
    for (Line& line : lines_) read_line(line);
    errors_.throw_if_any();
    share_rates();
    errors_.throw_if_any();
  }

  std::unique_ptr<RequestSource> make() {
    for (std::size_t i = 0; i < lines_.size(); ++i) add_members(lines_[i], i);
    errors_.throw_if_any();
    number_sessions();
    return std::make_unique<Mixture>(std::move(members_), spec_.requests);
  }

 private:
  template <class... Values>
  void fail(fmt::format_string<Values...> text, Values&&... values) {
    errors_.add({}, fmt::format(text, std::forward<Values>(values)...));
  }

  void check_line(const Line& line) {
    const ClientSpec& spec = *line.spec;
    clients_ += std::max<std::int64_t>(0, spec.count);
    if (spec.count < 1 || clients_ > kMostClients)
      fail("{}.count: found {}, expected 1 or more, and up to {} in all lines", line.name, spec.count, kMostClients);
    if (!(spec.zipf >= 0 && spec.zipf <= 10)) fail("{}.zipf: found {}, expected 0 to 10", line.name, spec.zipf);
    if (spec.share && !(*spec.share > 0 && *spec.share <= 1e9))
      fail("{}.share: found {}, expected above 0, up to 1e9", line.name, *spec.share);
    if (spec.share.has_value() != spec_.clients.front().share.has_value())
      fail("{}.share: all clients have a share, or none", line.name);
    if (!line.generated()) return;
    if (spec.own.arrivals.process == "spikes" && spec.count > 1)
      fail("{}.count: spikes are of whole requests and cannot be split over {} clients", line.name, spec.count);
    if (spec.own.prefix && spec.own.prefix->groups > kMostBeginnings / std::max<std::int64_t>(1, spec.count))
      fail("{}.prefix: groups: {} for each of {} clients are more than {}", line.name, spec.own.prefix->groups,
           spec.count, kMostBeginnings);
  }

  void check_rates() {
    if (spec_.rate_per_s && !(*spec_.rate_per_s > 0 && *spec_.rate_per_s <= 1e9))
      fail("rate: found {}, expected above 0, up to 1e9 req/s", *spec_.rate_per_s);
    if (!(spec_.rate_scale > 0 && spec_.rate_scale <= 1e9))
      fail("rate_scale: found {}, expected above 0, up to 1e9", spec_.rate_scale);
    if (spec_.rate_per_s && spec_.rate_scale != 1) fail("rate_scale: given beside rate, which sets the total");
    if (!spec_.clients.empty() && spec_.clients.front().share && !spec_.rate_per_s)
      fail("rate: missing: the total that clients have shares of");
  }

  void read_line(Line& line) {
    if (line.generated()) {
      line.rate_per_s = mean_rate_per_s(line.spec->own.arrivals);
      return;
    }
    line.rate_per_s = 0;
    for (const std::string& file : servegen_files(line.spec->servegen)) {
      line.measured.push_back(read_servegen_client(LineReader(file, open_bytes(file))));
      *line.rate_per_s += mean_rate_per_s(line.measured.back());
    }
    if (*line.rate_per_s == 0) fail("{}.servegen: {} never asks", line.name, line.spec->servegen.string());
  }

  void share_rates() {
    double rates = 0;
    double shares = 0;
    for (const Line& line : lines_) {
      rates += line.rate_per_s.value_or(0);
      shares += line.spec->share.value_or(0);
    }
    for (Line& line : lines_) {
      const bool spikes = line.generated() && line.spec->own.arrivals.process == "spikes";
      if (spikes && (spec_.rate_per_s || spec_.rate_scale != 1))
        fail("{}.arrivals: spikes are of whole requests and take no scale, total or share", line.name);
      line.factor = spec_.rate_scale;
      if (spec_.rate_per_s && !line.rate_per_s) {
        fail("{}.arrivals: a curve has no mean rate that a total could be made of; take rate_scale", line.name);
        continue;
      }
      if (line.spec->share) {
        const double shared = *spec_.rate_per_s * *line.spec->share / shares;
        line.factor = shared / *line.rate_per_s;
      } else if (spec_.rate_per_s) {
        line.factor = *spec_.rate_per_s / rates;
      }
    }
  }

  void add_members(const Line& line, std::size_t number) {
    const ClientSpec& spec = *line.spec;
    std::shared_ptr<JointLengthDistribution> lengths;
    if (line.generated() && spec.own.lengths) lengths = make_lengths_of(*spec.own.lengths);
    double parts = 0;
    for (std::int64_t g = 1; g <= spec.count; ++g) parts += line.part(g);
    for (std::int64_t g = 1; g <= spec.count; ++g) {
      const double part = line.part(g) / parts;
      const std::uint64_t seed = RandomStream(spec_.seed, fmt::format("client {}.{}", number, g)).next();
      try {
        if (line.generated()) {
          add(line, make_generator(one_of(line, part, seed), lengths));
        } else {
          for (std::size_t k = 0; k < line.measured.size(); ++k)
            add(line, std::make_unique<ServeGenSource>(line.measured[k], seed + k, line.factor * part));
        }
      } catch (const InputError& error) {
        const std::string which = spec.count == 1 ? "" : fmt::format(" (client {} of {})", g, spec.count);
        for (const Diagnostic& d : error.diagnostics())
          errors_.add(d.place, fmt::format("{}.{}{}", line.name, d.message, which));
        return;  // its others are alike
      }
    }
    if (line.generated() && spec.own.prefix) beginnings_ += static_cast<double>(spec.own.prefix->groups);
    if (beginnings_ > kMostNumbers) fail("{}.prefix: more beginnings than 32 bits can number", line.name);
  }

  // One client of a line. It may be asked for all the requests, but not for more than a generator's longest span.
  [[nodiscard]] GeneratorSpec one_of(const Line& line, double part, std::uint64_t seed) const {
    GeneratorSpec own = line.spec->own;
    own.seed = seed;
    own.classes.clear();
    own.arrivals = with_rates_times(own.arrivals, line.factor * part);
    own.arrivals.going_on = true;
    const double rate = own.arrivals.curve.empty() ? own.arrivals.rate_per_s : own.arrivals.curve.back().rate_per_s;
    const double longest = std::floor(kLongestSpanSeconds * rate);
    own.requests = spec_.requests;
    if (longest < static_cast<double>(spec_.requests))
      own.requests = std::max<std::int64_t>(1, static_cast<std::int64_t>(longest));
    return own;
  }

  void add(const Line& line, std::unique_ptr<RequestSource> source) {
    const std::uint32_t tenant = line.spec->tenant.value_or(static_cast<std::uint32_t>(members_.size() + 1));
    members_.emplace_back(std::move(source), tenant, line.spec->priority);
    members_.back().number_beginnings(static_cast<std::uint32_t>(std::min(beginnings_, kMostNumbers)));
    if (line.generated() && line.spec->own.sessions) with_sessions_.push_back(members_.size() - 1);
  }

  void number_sessions() {
    const auto every = static_cast<std::uint32_t>(with_sessions_.size());
    for (std::uint32_t i = 0; i < every; ++i) members_[with_sessions_[i]].number_sessions(i + 1, every);
  }

  const MixtureSpec& spec_;
  Diagnostics errors_;
  std::vector<Line> lines_;
  std::vector<Member> members_;
  std::vector<std::size_t> with_sessions_;
  std::int64_t clients_ = 0;
  double beginnings_ = 0;  // of the lines before
};

}  // namespace

std::unique_ptr<RequestSource> make_mixture(const MixtureSpec& spec) { return Population(spec).make(); }

}  // namespace blockyard::workload
