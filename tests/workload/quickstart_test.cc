#include <catch2/catch.hpp>

#include "sim/workload/generator.h"
#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

TEST_CASE("the shipped quickstart trace is what its stated parameters generate") {
  GeneratorSpec spec;
  spec.seed = 1;
  spec.requests = 2000;
  spec.arrivals.process = "poisson";
  spec.arrivals.rate_per_s = 5.53;
  spec.prompt_tokens.distribution = "lognormal";
  spec.prompt_tokens.mean = 1154.7;
  spec.prompt_tokens.cv = 0.69;
  spec.prompt_tokens.max = Tokens(14'050);
  spec.output_tokens.distribution = "lognormal";
  spec.output_tokens.mean = 211.1;
  spec.output_tokens.cv = 0.61;
  spec.output_tokens.max = Tokens(1000);
  const TraceFolder folder;
  generate_to_file(spec, folder.path("quickstart.csv"));
  const std::string shipped = file_bytes(std::string(BLOCKYARD_SOURCE_DIR) + "/traces/quickstart.csv");
  CHECK(shipped.size() < 200'000);
  const bool equal = file_bytes(folder.path("quickstart.csv")) == shipped;
  CHECK(equal);
}

}  // namespace
}  // namespace blockyard::workload
