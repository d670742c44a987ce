#include "sim/workload/status.h"

#include <catch2/catch.hpp>

namespace blockyard::workload {
namespace {

TEST_CASE("a status is a success by its word or its number") {
  for (const char* status : {"", "ok", "OK", "Success", "completed", "finished", "stop", "length", "200", "0", "302"}) {
    INFO(status);
    CHECK(is_success(status));
  }
  for (const char* status : {"error", "ERROR", "timeout", "cancelled", "incomplete", "400", "503", "-1", "new word"}) {
    INFO(status);
    CHECK_FALSE(is_success(status));
  }
}

}  // namespace
}  // namespace blockyard::workload
