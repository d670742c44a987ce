// libFuzzer: any bytes as a scenario. They end in a document or in an InputError.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/base/check.h"
#include "sim/scenario/load.h"
#include "sim/serving/names.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace blockyard;
  static const scenario::Schema kSchema = serving::scenario_schema(BLOCKYARD_CONFIG_DIR);
  try {
    (void)scenario::parse({reinterpret_cast<const char*>(data), size}, "fuzz.yaml", kSchema);
  } catch (const InputError& error) {
    CHECK_LAW(!error.diagnostics().empty(), "an error that says nothing");
  }
  return 0;
}
