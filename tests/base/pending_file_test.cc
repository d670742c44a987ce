// A file appears whole or not at all, and what is no file stays what it is.
#include "sim/base/pending_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/temporary_folder.h"

namespace blockyard {
namespace {

namespace fs = std::filesystem;

std::ptrdiff_t files_in(const TemporaryFolder& folder) {
  return std::distance(fs::directory_iterator(folder.path()), {});
}

void write(const fs::path& path, std::string_view text) {
  PendingFile file(path);
  file.buffer().append(text.data(), text.data() + text.size());
  file.close();
  file.commit();
}

std::string content(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST_CASE("without commit nothing is left, and an older file stays") {
  const TemporaryFolder folder;
  write(folder / "a", "old");
  {
    PendingFile file(folder / "a");
    file.buffer().push_back('x');
    file.close();
  }
  CHECK(content(folder / "a") == "old");
  CHECK(files_in(folder) == 1);
  write(folder / "a", "new");
  CHECK(content(folder / "a") == "new");
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a pipe is written to and stays a pipe") {
  const TemporaryFolder folder;
  const fs::path pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  write(pipe, "through");
  char text[16] = {};
  CHECK(::read(reader, text, sizeof text) == 7);
  CHECK(std::string_view(text) == "through");
  ::close(reader);
  CHECK(fs::is_fifo(pipe));
  CHECK(files_in(folder) == 1);
}

TEST_CASE("devices stay devices") {
  write("/dev/null", "nothing");
  CHECK(fs::is_character_file("/dev/null"));
  CHECK_FALSE(fs::exists("/dev/null.partial-" + std::to_string(::getpid())));
}

TEST_CASE("what is open already is written where it stands, even if it is a regular file") {
  const TemporaryFolder folder;
  const fs::path path = folder / "out";
  const int out = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(out >= 0);
  write("/proc/self/fd/" + std::to_string(out), "in place");
  char text[16] = {};
  CHECK(::pread(out, text, sizeof text, 0) == 8);  // the same file still
  CHECK(std::string_view(text) == "in place");
  ::close(out);
  CHECK(files_in(folder) == 1);
}

TEST_CASE("a symbolic link stays, and what it names is replaced") {
  const TemporaryFolder folder;
  write(folder / "there", "old");
  fs::create_symlink("there", folder / "link");
  write(folder / "link", "new");
  CHECK(fs::is_symlink(folder / "link"));
  CHECK(content(folder / "there") == "new");
  CHECK(files_in(folder) == 2);
  fs::create_symlink("later", folder / "ahead");
  write(folder / "ahead", "first");
  CHECK(fs::is_symlink(folder / "ahead"));
  CHECK(content(folder / "later") == "first");
}

TEST_CASE("a place that cannot be written is told by its name") {
  const TemporaryFolder folder;
  const fs::path absent = folder / "absent" / "a";
  CHECK_THROWS_WITH(write(absent, ""), absent.string() + ": cannot be written: No such file or directory");
  fs::create_directory(folder / "taken");
  CHECK_THROWS_AS(write(folder / "taken", ""), WriteError);
}

}  // namespace
}  // namespace blockyard
