// Makes the traces of the benchmark in a folder: make_traces FOLDER. The same bytes every time.
//   mixed.csv   1,000,000 requests, Poisson at 1 request/s (the scenarios scale the rate), log-normal lengths of mean
//   1,000 in and
//               200 out, both with a coefficient of variation of 1
//   steady.csv  100,000 requests, Poisson at 4 requests/s, 512 tokens in and 256 out
#include <filesystem>
#include <iostream>

#include "sim/base/diagnostics.h"
#include "sim/workload/generator.h"

namespace {

using blockyard::Tokens;
using blockyard::workload::GeneratorSpec;
using blockyard::workload::LengthSpec;

LengthSpec lognormal(double mean) {
  LengthSpec spec;
  spec.distribution = "lognormal";
  spec.mean = mean;
  spec.cv = 1;
  return spec;
}

LengthSpec constant(std::int64_t value) {
  LengthSpec spec;
  spec.distribution = "constant";
  spec.value = Tokens(value);
  return spec;
}

GeneratorSpec mixed() {
  GeneratorSpec spec;
  spec.requests = 1'000'000;
  spec.arrivals.rate_per_s = 1;
  spec.prompt_tokens = lognormal(1000);
  spec.output_tokens = lognormal(200);
  spec.seed = 1;
  return spec;
}

GeneratorSpec steady() {
  GeneratorSpec spec;
  spec.requests = 100'000;
  spec.arrivals.rate_per_s = 4;
  spec.prompt_tokens = constant(512);
  spec.output_tokens = constant(256);
  spec.seed = 1;
  return spec;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_traces FOLDER\n";
    return 2;
  }
  const std::filesystem::path folder = argv[1];
  try {
    std::filesystem::create_directories(folder);
    generate_to_file(mixed(), folder / "mixed.csv");
    generate_to_file(steady(), folder / "steady.csv");
  } catch (const blockyard::InputError& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
  return 0;
}
