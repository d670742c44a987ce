#include "sim/base/diagnostics.h"

#include <catch2/catch.hpp>

using namespace blockyard;

TEST_CASE("a place names what is known of it") {
  CHECK(to_string(Place{"chat.yaml", 14, 5}) == "chat.yaml:14:5");
  CHECK(to_string(Place{"chat.yaml", 14, 0}) == "chat.yaml:14");
  CHECK(to_string(Place{"chat.yaml", 0, 0}) == "chat.yaml");
  CHECK(to_string(Diagnostic{Place{}, "no command"}) == "no command");
}

TEST_CASE("the nearest name is offered only for a slip of the hand") {
  const std::vector<std::string> names{"block_size", "strategy", "budget"};
  CHECK(nearest_name("block_sise", names) == "block_size");
  CHECK(nearest_name("blokc_size", names) == "block_size");
  CHECK(nearest_name("BLOCK_SIZE", names) == "block_size");
  CHECK(nearest_name("temperature", names).empty());
  // Of those that go on from what was written, the shortest.
  const std::vector<std::string> gpus{"h100-80gb-pcie-nvl", "h100-80gb-sxm", "l4"};
  CHECK(nearest_name("H100", gpus) == "h100-80gb-sxm");
  CHECK(did_you_mean("budgte", names) == "; did you mean \"budget\"?");
}

TEST_CASE("all errors leave together, one a line") {
  Diagnostics diagnostics;
  CHECK_NOTHROW(diagnostics.throw_if_any());
  diagnostics.add({"a.yaml", 1, 2}, "first");
  diagnostics.add({"a.yaml", 3, 4}, "second");
  try {
    diagnostics.throw_if_any();
    FAIL("nothing was thrown");
  } catch (const InputError& error) {
    CHECK(std::string(error.what()) == "a.yaml:1:2: first\na.yaml:3:4: second");
  }
}
