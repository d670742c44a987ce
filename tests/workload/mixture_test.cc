// Populations of clients against their closed forms.
#include "sim/workload/mixture.h"

#include <rapidcheck.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "sim/workload/servegen_client.h"
#include "sim/workload/trace_statistics.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

constexpr double kSure = 4.5;

LengthSpec lognormal(double mean, double cv) {
  LengthSpec spec;
  spec.distribution = "lognormal";
  spec.mean = mean;
  spec.cv = cv;
  return spec;
}

LengthSpec constant(std::int64_t value) {
  LengthSpec spec;
  spec.value = Tokens(value);
  return spec;
}

ClientSpec client(const char* process, double rate, double cv = 1) {
  ClientSpec spec;
  spec.own.arrivals.process = process;
  spec.own.arrivals.rate_per_s = rate;
  spec.own.arrivals.cv = cv;
  spec.own.prompt_tokens = constant(100);
  spec.own.output_tokens = constant(10);
  return spec;
}

MixtureSpec mixture_of(std::int64_t requests, std::vector<ClientSpec> clients) {
  MixtureSpec spec;
  spec.requests = requests;
  spec.seed = 5;
  spec.clients = std::move(clients);
  return spec;
}

std::vector<Request> generate(const MixtureSpec& spec) {
  const auto source = make_mixture(spec);
  return read_all(*source);
}

std::map<std::uint32_t, std::vector<Request>> by_tenant(const std::vector<Request>& requests) {
  std::map<std::uint32_t, std::vector<Request>> tenants;
  for (const Request& request : requests) tenants[request.tenant].push_back(request);
  return tenants;
}

std::string errors_of(const MixtureSpec& spec) {
  try {
    static_cast<void>(make_mixture(spec));
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

double span_s(const std::vector<Request>& requests) { return to_seconds(requests.back().arrival); }

// Gaps of a superposition (Cox & Smith, On the superposition of renewal processes, 1954): P(gap > t) is the sum over
// its processes of the share of its rate x P(own gap > t) x the product over the others of P(wait for their next > t).
// Erlang-2 at rate a (CV 1/sqrt 2): P(gap > t) = (1 + 2at) e^(-2at), P(wait > t) = (1 + at) e^(-2at). With Poisson at
// rate b, c = 2a + b: P(gap > t) = e^(-ct) (a (1 + 2at) + b (1 + at)) / (a + b), and E[gap^2] = 2 int t P(gap > t) dt.
TEST_CASE("an Erlang and a Poisson client together: rate, CV of the gaps, shares and lengths") {
  constexpr double kA = 6;
  constexpr double kB = 4;
  constexpr double kC = 2 * kA + kB;
  constexpr std::int64_t kCount = 200'000;
  ClientSpec even = client("gamma", kA, std::sqrt(0.5));
  even.own.prompt_tokens = lognormal(1000, 1.5);
  ClientSpec plain = client("poisson", kB);
  plain.own.output_tokens = lognormal(200, 0.5);
  const std::vector<Request> requests = generate(mixture_of(kCount, {even, plain}));
  REQUIRE(requests.size() == kCount);
  ListSource source{std::vector<Request>(requests)};
  const TraceStatistics seen = measure(source);

  const double squares =
      2 * (kA * (1 / (kC * kC) + 4 * kA / (kC * kC * kC)) + kB * (1 / (kC * kC) + 2 * kA / (kC * kC * kC))) / (kA + kB);
  CHECK(seen.gap_cv == Approx(std::sqrt(squares * (kA + kB) * (kA + kB) - 1)).epsilon(0.01));
  // Counts vary by (a / 2 + b) / (a + b) = 0.7 of their mean.
  CHECK(span_s(requests) * (kA + kB) == Approx(kCount).margin(kSure * std::sqrt(0.7 * kCount)));
  const auto tenants = by_tenant(requests);
  REQUIRE(tenants.size() == 2);
  const auto of_a = static_cast<double>(tenants.at(1).size());
  CHECK(std::abs(of_a / kCount - kA / (kA + kB)) < kSure * std::sqrt(0.24 / kCount));
  const auto mean = [](const std::vector<Request>& of, auto length) {
    double sum = 0;
    for (const Request& request : of) sum += static_cast<double>((request.*length).count());
    return sum / static_cast<double>(of.size());
  };
  CHECK(mean(tenants.at(1), &Request::prompt_tokens) == Approx(1000).epsilon(kSure * 1.5 / std::sqrt(of_a)));
  CHECK(mean(tenants.at(1), &Request::output_tokens) == 10);
  CHECK(mean(tenants.at(2), &Request::output_tokens) == Approx(200).epsilon(kSure * 0.5 / std::sqrt(kCount - of_a)));
}

// Counts of independent clients add up, and so do their variances: over long windows that of a renewal process is
// CV^2 x its mean (Cox, Renewal Theory, sec. 4.5), so that the dispersion of the sum is that of its parts.
TEST_CASE("bursts of clients do not average out: the dispersion of forty with a CV of 3 is 9") {
  ClientSpec forty = client("gamma", 20, 3);
  forty.count = 40;
  forty.zipf = 1;
  constexpr double kWindow = 400;
  const std::vector<Request> requests = generate(mixture_of(2'000'000, {forty}));
  const auto windows = static_cast<std::size_t>(span_s(requests) / kWindow);
  std::vector<double> counts(windows);
  for (const Request& request : requests) {
    const auto window = static_cast<std::size_t>(to_seconds(request.arrival) / kWindow);
    if (window < windows) ++counts[window];
  }
  double sum = 0;
  double squares = 0;
  for (const double count : counts) sum += count;
  const double mean = sum / static_cast<double>(windows);
  for (const double count : counts) squares += (count - mean) * (count - mean);
  CHECK(mean == Approx(20 * kWindow).epsilon(kSure * std::sqrt(9 / 2e6)));
  CHECK(squares / static_cast<double>(windows) / mean == Approx(9).epsilon(kSure * std::sqrt(2.0 / 250)));
}

TEST_CASE("a total rate and shares; clients of one line by Zipf's law") {
  constexpr std::int64_t kCount = 100'000;
  ClientSpec few = client("poisson", 1);
  few.share = 3;
  ClientSpec many = client("poisson", 1);
  many.share = 1;
  many.count = 5;
  many.zipf = 1;
  many.priority = 4;
  MixtureSpec spec = mixture_of(kCount, {few, many});
  spec.rate_per_s = 50;
  const std::vector<Request> requests = generate(spec);
  CHECK(span_s(requests) == Approx(kCount / 50.0).epsilon(kSure / std::sqrt(kCount)));
  const auto tenants = by_tenant(requests);
  REQUIRE(tenants.size() == 6);
  const auto check_share = [&](std::uint32_t tenant, double share) {
    const double seen = static_cast<double>(tenants.at(tenant).size()) / kCount;
    CHECK(std::abs(seen - share) < kSure * std::sqrt(share * (1 - share) / kCount));
  };
  check_share(1, 0.75);
  const double harmonic = 1 + 1 / 2.0 + 1 / 3.0 + 1 / 4.0 + 1 / 5.0;
  for (std::uint32_t g = 1; g <= 5; ++g) check_share(1 + g, 0.25 / g / harmonic);
  CHECK(tenants.at(6).front().priority == 4);

  // All as one tenant; and rates of their own, in proportion.
  spec.clients[1].tenant = 9;
  CHECK(by_tenant(generate(spec)).size() == 2);
  spec.clients[0] = client("poisson", 3);
  spec.clients[1] = client("poisson", 1);
  CHECK(span_s(generate(spec)) == Approx(kCount / 50.0).epsilon(kSure / std::sqrt(kCount)));
  spec.rate_per_s.reset();
  spec.rate_scale = 5;
  CHECK(span_s(generate(spec)) == Approx(kCount / 20.0).epsilon(kSure / std::sqrt(kCount)));
}

TEST_CASE("a mixture scales curves, days and bursts with their clients") {
  ClientSpec curve = client("piecewise", 1);
  curve.own.arrivals.curve = {{SimTime(0), 2}, {to_time(100), 10}};
  ClientSpec bursts = client("on_off", 4);
  bursts.own.arrivals.burst_rate_per_s = 16;
  bursts.own.arrivals.burst = to_time(5);
  bursts.own.arrivals.quiet = to_time(15);
  MixtureSpec spec = mixture_of(100'000, {curve, bursts});
  spec.rate_scale = 3;
  const auto tenants = by_tenant(generate(spec));
  const auto within = [](const std::vector<Request>& requests, double from_s, double to_s) {
    return static_cast<double>(std::ranges::count_if(
        requests, [&](const Request& r) { return to_seconds(r.arrival) >= from_s && to_seconds(r.arrival) < to_s; }));
  };
  // 3 x 2 x 100 and 3 x 10 x 1000; the shift to the first request is far below a second.
  CHECK(std::abs(within(tenants.at(1), 0, 100) - 600) < kSure * std::sqrt(600) + 2);
  CHECK(std::abs(within(tenants.at(1), 100, 1100) - 30'000) < kSure * std::sqrt(30'000) + 5);
  CHECK(std::abs(within(tenants.at(2), 0, 1000) - 12'000) < kSure * std::sqrt(12'000) + 2);
}

TEST_CASE("what a client sends is its own: another behind it changes nothing of it") {
  ClientSpec a = client("gamma", 3, 2);
  a.own.prompt_tokens = lognormal(300, 1);
  ClientSpec b = client("weibull", 5, 1.5);
  b.count = 3;
  b.own.output_tokens = lognormal(50, 1);
  const auto two = by_tenant(generate(mixture_of(5000, {a, b})));
  CHECK(same(generate(mixture_of(5000, {a, b})), generate(mixture_of(5000, {a, b}))));
  const auto three = by_tenant(generate(mixture_of(5000, {a, b, client("poisson", 10)})));
  REQUIRE(three.size() == 5);
  for (std::uint32_t tenant = 1; tenant <= 4; ++tenant) {
    const std::vector<Request>& alone = two.at(tenant);
    const std::vector<Request>& beside = three.at(tenant);
    for (std::size_t i = 1; i < std::min(alone.size(), beside.size()); ++i) {
      REQUIRE(beside[i].prompt_tokens == alone[i].prompt_tokens);
      REQUIRE(beside[i].output_tokens == alone[i].output_tokens);
      REQUIRE(beside[i].arrival - beside[i - 1].arrival == alone[i].arrival - alone[i - 1].arrival);
    }
  }
}

TEST_CASE("sessions and beginnings of different clients are different ones") {
  ClientSpec chat = client("poisson", 2);
  chat.own.sessions.emplace();
  chat.own.sessions->turns = 3;
  chat.own.sessions->delay = to_time(1);
  chat.count = 4;
  ClientSpec documents = client("poisson", 4);
  documents.own.prefix = PrefixSpec{7, Tokens(50), 0.5};
  documents.count = 3;
  const std::vector<Request> requests = generate(mixture_of(20'000, {chat, documents, chat, documents}));
  std::map<std::uint32_t, std::uint32_t> tenant_of_session;
  std::map<std::uint32_t, bool> line_of_beginning;
  for (const Request& request : requests) {
    if (request.session != 0) {
      REQUIRE(tenant_of_session.try_emplace(request.session, request.tenant).first->second == request.tenant);
    }
    if (request.prefix != 0) {
      const bool last = request.tenant > 11;
      REQUIRE(line_of_beginning.try_emplace(request.prefix, last).first->second == last);
    }
  }
  CHECK(line_of_beginning.size() == 14);
  CHECK(line_of_beginning.rbegin()->first == 14);
}

// Any population: in order, from 0 on, as many as were asked for, the same in whatever spans it is read.
TEST_CASE("random populations") {
  const bool holds = rc::check([] {
    std::vector<ClientSpec> clients;
    const int lines = *rc::gen::inRange(1, 6);
    for (int i = 0; i < lines; ++i) {
      const auto process = *rc::gen::element("poisson", "constant", "gamma", "weibull", "diurnal", "mmpp");
      ClientSpec spec = client(process, *rc::gen::inRange(1, 10), *rc::gen::inRange(2, 50) / 10.0);
      spec.own.arrivals.period = to_time(60);
      spec.own.arrivals.amplitude = 0.5;
      spec.own.arrivals.burst_rate_per_s = 2 * spec.own.arrivals.rate_per_s;
      spec.own.arrivals.burst = spec.own.arrivals.quiet = to_time(100);
      spec.own.prompt_tokens = lognormal(100, 1);
      spec.count = *rc::gen::inRange(1, 200);
      spec.zipf = *rc::gen::inRange(0, 11) / 10.0;
      if (*rc::gen::inRange(0, 3) == 0) spec.own.sessions.emplace().turns = 2.5;
      clients.push_back(spec);
    }
    MixtureSpec spec = mixture_of(*rc::gen::inRange(1, 2000), clients);
    spec.seed = *rc::gen::arbitrary<std::uint64_t>();
    if (*rc::gen::arbitrary<bool>()) spec.rate_per_s = 100;
    const std::vector<Request> requests = generate(spec);
    RC_ASSERT(requests.size() == static_cast<std::size_t>(spec.requests));
    RC_ASSERT(requests.front().arrival == SimTime(0));
    RC_ASSERT(std::ranges::is_sorted(requests, {}, &Request::arrival));
    const auto source = make_mixture(spec);
    std::vector<Request> again;
    std::vector<Request> some(17);
    while (const std::size_t n = source->read(some)) {
      again.insert(again.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(n));
    }
    RC_ASSERT(same(again, requests));
  });
  CHECK(holds);
}

const std::string kDataset = R"({"0": {"input_tokens": "{100: 0.25, 200: 0.75}", "output_tokens": "{7: 1}"}})";

TEST_CASE("measured clients of ServeGen in a mixture") {
  const TraceFolder folder;
  (void)folder.write("chunk-5-dataset.json", kDataset);
  (void)folder.write("chunk-12-dataset.json", kDataset);
  // 2/s over 600 s of 1800, 1/s over all of them: mean rates 2/3 and 1.
  (void)folder.write("chunk-5-trace.csv", "0,2,3,Gamma,0.111111111,4.5\n600,0,0,,0,0\n1200,0,0,,0,0\n");
  (void)folder.write("chunk-12-trace.csv", "0,1,2.236,Weibull,0.5,0.5\n600,1,1,Gamma,1,1\n1200,1,1,Gamma,1,1\n");
  CHECK(servegen_files(folder.folder()) ==
        std::vector<std::string>{folder.path("chunk-5-trace.csv"), folder.path("chunk-12-trace.csv")});
  ClientSpec measured;
  measured.servegen = folder.folder();
  MixtureSpec spec = mixture_of(10'000'000, {measured});
  double first = 0;
  double all = 0;
  constexpr int kSeeds = 60;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    spec.seed = static_cast<std::uint64_t>(seed);
    const auto tenants = by_tenant(generate(spec));
    first += static_cast<double>(tenants.at(1).size()) / kSeeds;
    all += static_cast<double>(tenants.at(1).size() + tenants.at(2).size()) / kSeeds;
  }
  // 1200 requests at a CV of 3, and 1800, a third of them at sqrt(5). That the client was asking before each window is
  // what keeps the mean: windows that each began with a request of their own would bring (CV^2 - 1) / 2 more.
  CHECK(std::abs(first - 1200) < kSure * std::sqrt(9 * 1200.0 / kSeeds));
  CHECK(std::abs(all - 3000) < kSure * std::sqrt((9 * 1200.0 + 5 * 600 + 1200) / kSeeds));

  // Beside another client, with a total of which it has a third.
  measured.share = 1;
  ClientSpec other = client("poisson", 1);
  other.share = 2;
  spec = mixture_of(30'000, {measured, other});
  spec.rate_per_s = 30;
  const std::vector<Request> requests = generate(spec);
  // What is left of the windows of 1800 s goes by: 10/s in the mean, but 18 in the first 600 s, 6 behind it.
  double of_measured = 0;
  for (const Request& request : requests) {
    if (request.tenant != 3 && to_seconds(request.arrival) < 600) ++of_measured;
  }
  CHECK(std::abs(of_measured - 10'800) < kSure * std::sqrt(9 * 7200.0 + 5 * 3600));
  for (const Request& request : requests) {
    if (request.tenant != 3) REQUIRE((request.prompt_tokens == Tokens(100) || request.prompt_tokens == Tokens(200)));
  }
}

TEST_CASE("what is wrong with a population is told at once, by line") {
  CHECK(errors_of(mixture_of(10, {})) == "clients: expected one at least");
  ClientSpec shared = client("poisson", 1);
  shared.share = 1;
  ClientSpec odd = client("gamma", -1, 0);
  odd.zipf = -1;
  odd.count = 0;
  CHECK(errors_of(mixture_of(-1, {shared, odd})) ==
        "requests: found -1, expected 0 or more\n"
        "clients[1].count: found 0, expected 1 or more, and up to 100000 in all lines\n"
        "clients[1].zipf: found -1, expected 0 to 10\n"
        "clients[1].share: all clients have a share, or none\n"
        "rate: missing: the total that clients have shares of");
  odd.zipf = 0;
  odd.count = 3;
  CHECK_THAT(errors_of(mixture_of(10, {client("gamma", 1, 0), odd})),
             Catch::Contains("clients[0].arrivals: cv: found 0, expected 0.01 to 30") &&
                 Catch::Contains("clients[1].arrivals: rate: found") && Catch::Contains("(client 1 of 3)"));
  ClientSpec curve = client("piecewise", 1);
  curve.own.arrivals.curve = {{SimTime(0), 2}};
  ClientSpec spikes = client("spikes", 1);
  spikes.own.arrivals.period = to_time(10);
  spikes.own.arrivals.spike_requests = 5;
  MixtureSpec spec = mixture_of(10, {curve, spikes});
  CHECK(errors_of(spec).empty());
  spec.rate_per_s = 5;
  CHECK_THAT(errors_of(spec), Catch::Contains("clients[0].arrivals: a curve has no mean rate") &&
                                  Catch::Contains("clients[1].arrivals: spikes are of whole requests"));
  spec.rate_scale = 2;
  CHECK_THAT(errors_of(spec), Catch::Contains("rate_scale: given beside rate"));
  const TraceFolder folder;
  ClientSpec measured;
  measured.servegen = folder.folder();
  CHECK_THAT(errors_of(mixture_of(10, {measured})), Catch::Contains("a folder without any <chunk>-trace.csv"));
}

}  // namespace
}  // namespace blockyard::workload
