#include "sim/workload/write_csv.h"

#include <rapidcheck.h>

#include <catch2/catch.hpp>
#include <stdexcept>

#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

std::size_t files_in(const TraceFolder& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder.folder())) ++count;
  return count;
}

TEST_CASE("a written trace reads as it stands in the grammar") {
  const TraceFolder folder;
  ListSource source({{SimTime(0), Tokens(374), Tokens(44), Tokens(512), -1, 2, 3},
                     {SimTime(4'314'489'000), Tokens(396), Tokens(109), Tokens(109)},
                     {SimTime(5'000'000'001), Tokens(1), Tokens(1), Tokens(1)}});
  write_csv(source, folder.path("out.csv"));
  CHECK(file_bytes(folder.path("out.csv")) ==
        "arrival_s,prompt_tokens,output_tokens,max_tokens,priority,tenant,session,prefix_id,prefix_tokens\n"
        "0,374,44,512,-1,2,3,0,0\n4.314489,396,109,109,0,0,0,0,0\n5.000000001,1,1,1,0,0,0,0,0\n");
}

TEST_CASE("what is written is read back the same, to the ns") {
  REQUIRE(rc::check([] {
    const std::size_t count = *rc::gen::inRange<std::size_t>(0, 600);
    std::vector<Request> requests;
    SimTime arrival(0);
    for (std::size_t i = 0; i < count; ++i) {
      Request& request = requests.emplace_back();
      request.arrival = arrival;
      request.prompt_tokens = Tokens(*rc::gen::inRange<std::int64_t>(1, 1'000'000'001));
      request.output_tokens = Tokens(*rc::gen::inRange<std::int64_t>(1, 1'000'000'001));
      request.max_tokens = Tokens(*rc::gen::inRange<std::int64_t>(0, 1'000'000'001));
      request.priority = *rc::gen::arbitrary<std::int32_t>();
      request.tenant = *rc::gen::arbitrary<std::uint32_t>();
      request.session = *rc::gen::arbitrary<std::uint32_t>();
      request.prefix = *rc::gen::arbitrary<std::uint32_t>();
      request.prefix_tokens =
          static_cast<std::int32_t>(*rc::gen::inRange<std::int64_t>(0, request.prompt_tokens.count() + 1));
      arrival += SimTime(*rc::gen::inRange<std::int64_t>(0, *rc::gen::element<std::int64_t>(2, 1'000'000, 1LL << 53)));
    }
    const TraceFolder folder;
    ListSource source(requests);
    write_csv(source, folder.path("out.csv"));
    RC_ASSERT(same(read_trace(folder.path("out.csv")).requests, requests));
    RC_ASSERT(files_in(folder) == 1U);
  }));
}

// Breaks off after some requests.
class BrokenSource final : public RequestSource {
 public:
  std::size_t read(std::span<Request> out) override {
    if (++calls_ > 3) throw std::runtime_error("broken");
    for (Request& request : out) request = {SimTime(calls_), Tokens(1), Tokens(1), Tokens(1)};
    return out.size();
  }

 private:
  std::int64_t calls_ = 0;
};

TEST_CASE("a write that fails leaves no file, and an older file as it was") {
  const TraceFolder folder;
  const std::string path = folder.write("out.csv", "older");
  BrokenSource source;
  CHECK_THROWS_WITH(write_csv(source, path), "broken");
  CHECK(file_bytes(path) == "older");
  CHECK(files_in(folder) == 1U);
}

TEST_CASE("a place that cannot be written is told") {
  const TraceFolder folder;
  ListSource source({});
  const std::string path = folder.path("absent/out.csv");
  CHECK_THROWS_WITH(write_csv(source, path), path + ": cannot be written: No such file or directory");
  ListSource another({});
  CHECK_THROWS_AS(write_csv(another, folder.folder().string()), InputError);
  CHECK(files_in(folder) == 0U);
  CHECK_FALSE(std::filesystem::exists(folder.folder().string() + ".partial"));
}

}  // namespace
}  // namespace blockyard::workload
