#include "sim/cli/out_folder.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "sim/base/diagnostics.h"

using namespace blockyard;
using namespace blockyard::cli;
namespace fs = std::filesystem;

TEST_CASE("the folder is made with those above it, and may be there already") {
  const fs::path top = fs::temp_directory_path() / ("blockyard-out-folder-test-" + std::to_string(::getpid()));
  fs::remove_all(top);
  CHECK(prepare_out_folder(top / "a/b") == top / "a/b");
  CHECK(fs::is_directory(top / "a/b"));
  CHECK_NOTHROW(prepare_out_folder(top / "a/b"));

  std::ofstream(top / "file") << "x";
  CHECK_THROWS_AS(prepare_out_folder(top / "file"), InputError);
  CHECK_THROWS_AS(prepare_out_folder(top / "file/below"), InputError);
  CHECK_THROWS_AS(prepare_out_folder(""), InputError);
  fs::remove_all(top);
}

TEST_CASE("labels become names that need no quoting and stay apart") {
  CHECK(folder_name("strategy=paged, budget=60 GiB") == "strategy=paged,budget=60_GiB");
  CHECK(folder_name("model=models/own.yaml") == "model=models_own.yaml");
}
