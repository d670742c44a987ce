// Figures by class and by tenant: sums that add up, and small cases worked out.
#include "sim/metrics/group_figures.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <vector>

namespace blockyard::metrics {
namespace {

constexpr SimTime ms(std::int64_t n) { return SimTime(n * 1'000'000); }

RequestRecord finished(std::uint32_t tenant, std::uint16_t slo_class, SimTime first, SimTime last,
                       std::int32_t tokens) {
  RequestRecord r;
  r.outcome = Outcome::finished;
  r.tenant = tenant;
  r.slo_class = slo_class & 0x7F;
  r.prompt_tokens = 100;
  r.generated_tokens = tokens;
  r.first_token = first;
  r.ended = last;
  return r;
}

RequestRecord rejected(std::uint32_t tenant) {
  RequestRecord r;
  r.outcome = Outcome::rejected;
  r.tenant = tenant;
  r.prompt_tokens = 10;
  return r;
}

Records all(const std::vector<RequestRecord>& records) {
  Records pointers;
  pointers.reserve(records.size());
  for (const RequestRecord& r : records) pointers.push_back(&r);
  return pointers;
}

TEST_CASE("each request is held against the limits of its class") {
  // TTFT 500 and 1,500 ms; the class has 1 s, the others 2 s. TPOT 100 ms of both.
  const std::vector<RequestRecord> records{finished(1, 1, ms(500), ms(1'400), 10),
                                           finished(1, 1, ms(1'500), ms(2'400), 10),
                                           finished(2, 0, ms(1'500), ms(2'400), 10), rejected(2)};
  GroupRules rules{
      {.ttft = ms(2'000), .tpot = {}, .e2e = {}}, {{"fast", {.ttft = ms(1'000), .tpot = {}, .e2e = {}}}}, 10};
  const std::vector<GroupFigures> classes = by_class(all(records), rules);
  REQUIRE(classes.size() == 2);
  CHECK(classes[0].name == "(none)");
  CHECK(classes[0].arrived == 2);
  CHECK(classes[0].rejected == 1);
  CHECK(classes[0].good_requests == 1);
  CHECK(classes[0].good_share() == 0.5);
  CHECK(classes[0].misses->not_finished == 1);
  CHECK(classes[0].prompt_tokens == 110);
  CHECK(classes[0].output_tokens == 10);
  CHECK(classes[1].name == "fast");
  CHECK(classes[1].good_requests == 1);
  CHECK(classes[1].misses->limits[0].requests == 1);
  CHECK(classes[1].ttft.mean_s == 1.0);
  CHECK(*classes[1].tpot.p50_s == Approx(0.1));
  CHECK(classes[1].goodput_requests_per_s == 0.1);

  const TenantFigures tenants = by_tenant(all(records), rules);
  CHECK(tenants.count == 2);
  REQUIRE(tenants.tenants.size() == 2);  // as many requests each: the smaller number first
  CHECK(tenants.tenants[0].name == "1");
  CHECK(tenants.tenants[0].good_requests == 1);
  CHECK(tenants.tenants[1].good_requests == 1);
  CHECK(tenants.tenants[1].rejected == 1);
  CHECK_FALSE(tenants.others.has_value());
}

TEST_CASE("one tenant is none, and no class is none") {
  const std::vector<RequestRecord> records{finished(7, 0, ms(1), ms(2), 2), finished(7, 0, ms(1), ms(2), 2)};
  CHECK(by_tenant(all(records), {}).count == 0);
  CHECK(by_class(all(records), {}).empty());
  CHECK_FALSE(figures_of(all(records), {}).good_requests.has_value());
}

TEST_CASE("figures of all tenants add up, those of the smallest together") {
  const bool holds = rc::check([] {
    const int tenants = *rc::gen::element(2, 5, 1500);
    std::vector<RequestRecord> records;
    std::int64_t tokens = 0;
    const int extra = *rc::gen::inRange(0, 50);
    for (int i = 0; i < tenants + extra; ++i) {
      const auto tenant = static_cast<std::uint32_t>(i < tenants ? i : *rc::gen::inRange(0, tenants));
      if (i % 7 == 3) {
        records.push_back(rejected(tenant));
      } else {
        records.push_back(finished(tenant, 0, ms(i), ms(2 * i), 1 + i % 3));
      }
      tokens += records.back().prompt_tokens;
    }
    const GroupRules rules{{.ttft = ms(20), .tpot = {}, .e2e = {}}, {}, 1};
    TenantFigures figures = by_tenant(all(records), rules);
    RC_ASSERT(figures.count == tenants);
    RC_ASSERT(figures.tenants.size() == std::min<std::size_t>(static_cast<std::size_t>(tenants), TenantFigures::kMost));
    RC_ASSERT(figures.folded == tenants - static_cast<std::int64_t>(figures.tenants.size()));
    RC_ASSERT(figures.others.has_value() == (figures.folded > 0));
    if (figures.others) figures.tenants.push_back(*figures.others);
    GroupFigures sum;
    std::int64_t good = 0;
    for (const GroupFigures& f : figures.tenants) {
      sum.arrived += f.arrived;
      sum.finished += f.finished;
      sum.prompt_tokens += f.prompt_tokens;
      sum.ttft.count += f.ttft.count;
      good += *f.good_requests;
    }
    const GroupFigures whole = figures_of(all(records), rules);
    RC_ASSERT(sum.arrived == static_cast<std::int64_t>(records.size()));
    RC_ASSERT(sum.finished == whole.finished);
    RC_ASSERT(sum.ttft.count == whole.finished);
    RC_ASSERT(sum.prompt_tokens == tokens);
    RC_ASSERT(good == *whole.good_requests);
  });
  CHECK(holds);
}

}  // namespace
}  // namespace blockyard::metrics
