#include "sim/cli/out_folder.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"
#include "sim/report/files.h"
#include "sim/scenario/load.h"
#include "sim/serving/names.h"
#include "tests/temporary_folder.h"

using namespace blockyard;
using namespace blockyard::cli;
namespace fs = std::filesystem;

TEST_CASE("the folder is made with those above it, and may be there already") {
  const TemporaryFolder here;
  {
    const OutFolder folder(here / "a/b");
    CHECK(folder.path() == here / "a/b");
    CHECK(fs::is_directory(here / "a/b"));
    std::ofstream(here / "a/b/file") << "x";
    CHECK_NOTHROW(OutFolder(here / "a/b"));
  }
  CHECK(fs::exists(here / "a/b/file"));
}

TEST_CASE("a folder that could not be made is no fault of the input") {
  const TemporaryFolder here;
  std::ofstream(here / "file") << "x";
  CHECK_THROWS_AS(OutFolder(here / "file"), WriteError);
  CHECK_THROWS_AS(OutFolder(here / "file/below"), WriteError);
  CHECK_THROWS_AS(OutFolder(""), WriteError);
  const std::string too_long(300, 'x');
  CHECK_THROWS_AS(OutFolder(here / "new" / too_long), WriteError);
  CHECK_FALSE(fs::exists(here / "new"));
}

TEST_CASE("folders that nothing was put into go again, and only those that were made") {
  const TemporaryFolder here;
  fs::create_directories(here / "before");
  {
    const OutFolder folder(here / "before/a/b/");
  }
  CHECK(fs::is_empty(here / "before"));
  {
    const OutFolder folder(here / "before");
  }
  CHECK(fs::exists(here / "before"));
}

TEST_CASE("labels become names that need no quoting, each its own") {
  CHECK(folder_names({"strategy=paged, budget=60 GiB"}).front() == "strategy=paged,budget=60_GiB");
  CHECK(folder_names({"model=models/own.yaml"}).front() == "model=models_own.yaml");
  const std::vector<std::string> numbered{"file=v_t.csv", "file=v_t.csv_2", "file=v_t.csv_3"};
  CHECK(folder_names({"file=v/t.csv", "file=v_t.csv", "file=v:t.csv"}) == numbered);
  const std::vector<std::string> taken{"a_b_2", "a_b", "a_b_3"};
  CHECK(folder_names({"a_b_2", "a/b", "a b"}) == taken);
  const std::vector<std::string> cut = folder_names({std::string(300, 'x'), std::string(301, 'x')});
  CHECK(cut[0].size() < 255);
  CHECK(cut[0] != cut[1]);
}

TEST_CASE("what is read is not written over, whatever it is called") {
  const TemporaryFolder here;
  std::ofstream(here / "t.csv") << "arrival_s,prompt_tokens,output_tokens\n";
  fs::create_symlink(here / "t.csv", here / "requests.csv");
  const scenario::Document document =
      scenario::parse("model: llama-3-8b\nhardware: {gpu: l4}\nworkload: {trace: {file: t.csv}}\n", "s.yaml",
                      serving::scenario_schema(fs::path(BLOCKYARD_SOURCE_DIR) / "configs"), {}, here.path());
  const Paths inputs = inputs_of(here / "s.yaml", document);
  CHECK(std::ranges::find(inputs, here / "t.csv") != inputs.end());
  CHECK_THROWS_AS(refuse_inputs("--out", report::report_paths(here.path()), inputs), InputError);
  CHECK_THROWS_AS(refuse_inputs("--out", {here / "../" / here.path().filename() / "t.csv"}, inputs), InputError);
  CHECK_NOTHROW(refuse_inputs("--out", report::report_paths(here / "other"), inputs));
  // Whether a key was looked at by a run is not for this to say.
  const std::vector<std::string> unused = document.unused();
  CHECK(std::ranges::find(unused, "workload.trace.file") != unused.end());
}
