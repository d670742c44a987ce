// Which class of limits a request is of: what the trace says, then its tenant, then its weight.
#include "sim/workload/slo_classes.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

std::vector<Request> with_classes(std::vector<Request> requests, const std::vector<SloClassRule>& classes) {
  const auto source = with_slo_classes(std::make_unique<ListSource>(std::move(requests)), classes, 3, nullptr);
  return read_all(*source);
}

TEST_CASE("requests that nobody names are drawn by weight, the turns of a session alike") {
  constexpr std::size_t kCount = 40'000;
  std::vector<Request> requests(kCount);
  for (std::size_t i = 0; i < kCount; ++i) requests[i].session = i % 2 == 0 ? 0 : static_cast<std::uint32_t>(i % 9999);
  const std::vector<SloClassRule> classes{{3, {}, ""}, {0, {}, ""}, {1, {}, ""}};
  std::map<int, double> alone;
  std::map<std::uint32_t, int> of_session;
  std::map<int, double> sessions;
  for (const Request& request : with_classes(requests, classes)) {
    if (request.session == 0) {
      ++alone[request.slo_class];
    } else {
      const auto [entry, fresh] = of_session.try_emplace(request.session, request.slo_class);
      REQUIRE(entry->second == request.slo_class);
      if (fresh) ++sessions[request.slo_class];
    }
  }
  for (auto* seen : {&alone, &sessions}) {
    const double n = (*seen)[1] + (*seen)[3];
    CHECK((*seen)[2] == 0);
    CHECK(std::abs((*seen)[1] / n - 0.75) < 4.5 * std::sqrt(0.75 * 0.25 / n));
  }
}

TEST_CASE("a tenant's class, the first that names it; without any weight the others have none") {
  std::vector<Request> requests(5);
  for (std::uint32_t i = 0; i < 5; ++i) requests[i].tenant = i;
  const std::vector<SloClassRule> classes{{0, {{1, 2}}, ""}, {0, {{2, 2}, {4, 4}}, ""}};
  std::vector<int> seen;
  for (const Request& request : with_classes(requests, classes)) seen.push_back(request.slo_class);
  CHECK(seen == std::vector<int>{0, 1, 1, 0, 2});
}

TEST_CASE("a category that the trace states comes before its tenant") {
  const TraceFolder folder;
  auto trace = open_trace(folder.write("t.csv",
                                       "arrival_s,prompt_tokens,output_tokens,tenant,category\n"
                                       "0,5,5,1,chat\n1,5,5,1,\n2,5,5,2,batch\n3,5,5,1,batch\n4,5,5,3,odd\n"));
  const TraceSource* const names = trace.get();
  const auto source = with_slo_classes(std::move(trace), {{0, {{1, 1}}, "chat"}, {0, {}, "batch"}}, 3, names);
  std::vector<int> seen;
  for (const Request& request : read_all(*source)) seen.push_back(request.slo_class);
  CHECK(seen == std::vector<int>{1, 1, 2, 2, 0});
}

}  // namespace
}  // namespace blockyard::workload
