#include "sim/report/memory_csv.h"

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/temporary_folder.h"

using namespace blockyard;
using namespace blockyard::report;

namespace {

namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a row for each change of the pool, in bytes, once the file is put in place") {
  const TemporaryFolder top;
  const fs::path folder = top / "new";
  {
    MemoryCsv file(folder);
    MemoryChange change{MemoryOperation::admit, RequestId{7}, Tokens(5), {}};
    change.after[MemoryState::live] = 5;
    change.after[MemoryState::free] = 11;
    file.add(SimTime(1'500'000'000), change, Bytes(100));
    CHECK_FALSE(fs::exists(folder / "memory.csv"));
    file.close();
    file.commit();
  }
  CHECK(text_of(folder / "memory.csv") ==
        "t_s,request,operation,slots,live_bytes,cached_bytes,reserved_bytes,over_reserved_bytes,tail_bytes,"
        "padding_bytes,external_bytes,free_bytes\n"
        "1.5,7,admit,5,500,0,0,0,0,0,0,1100\n");
}
