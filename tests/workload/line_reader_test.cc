#include "sim/workload/line_reader.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/workload/trace_fixture.h"

namespace blockyard::workload {
namespace {

std::vector<std::string> lines_of(const std::string& path) {
  LineReader reader(path, open_bytes(path));
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(line)) lines.emplace_back(line);
  return lines;
}

std::string error_of_lines(const std::string& path) {
  try {
    (void)lines_of(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

// The same text for ever, a few bytes at a time.
class EndlessBytes final : public ByteSource {
 public:
  explicit EndlessBytes(char byte) : byte_(byte) {}
  std::size_t read(std::span<char> out) override {
    given += out.size();
    std::fill(out.begin(), out.end(), byte_);
    return out.size();
  }
  std::size_t given = 0;

 private:
  char byte_;
};

using Lines = std::vector<std::string>;

TEST_CASE("lines end in LF or CRLF, the last with or without an end") {
  const TraceFolder folder;
  CHECK(lines_of(folder.write("a", "one\ntwo\n")) == Lines{"one", "two"});
  CHECK(lines_of(folder.write("b", "one\r\ntwo\r\n")) == Lines{"one", "two"});
  CHECK(lines_of(folder.write("c", "one\r\ntwo")) == Lines{"one", "two"});
  CHECK(lines_of(folder.write("d", "one\n\ntwo\r")) == Lines{"one", "", "two"});
  CHECK(lines_of(folder.write("e", "")).empty());
}

TEST_CASE("a byte order mark is skipped") {
  const TraceFolder folder;
  CHECK(lines_of(folder.write("a", "\xef\xbb\xbfone\n")) == Lines{"one"});
  CHECK(lines_of(folder.write("b", "\xef\xbb\xbf")).empty());
  CHECK(lines_of(folder.write("c", "\xef\xbb")) == Lines{"\xef\xbb"});
}

TEST_CASE("lines across the blocks of the reader are whole") {
  const TraceFolder folder;
  Lines expected;
  std::string text;
  for (std::size_t length : {0U, 100'000U, 1U, 262'143U, 262'144U, 262'145U, 1'000'000U, 3U}) {
    expected.emplace_back(length, static_cast<char>('a' + expected.size()));
    text += expected.back() + (expected.size() % 2 == 0 ? "\n" : "\r\n");
  }
  CHECK(lines_of(folder.write("plain", text)) == expected);
  CHECK(lines_of(folder.write_gzip("packed.gz", {text})) == expected);
}

TEST_CASE("peeking takes nothing, and skips blank lines") {
  const TraceFolder folder;
  const std::string path = folder.write("a", "\n  \r\nfirst\r\nsecond");
  LineReader reader(path, open_bytes(path));
  CHECK(reader.peek() == "first");
  std::string_view line;
  REQUIRE(reader.next(line));
  CHECK(line.empty());
  CHECK(reader.line_number() == 1);
  CHECK(reader.peek() == "first");
}

TEST_CASE("a line without end stops with its place, in bounded memory") {
  auto endless = std::make_unique<EndlessBytes>('x');
  EndlessBytes* const bytes = endless.get();
  LineReader reader("endless.csv", std::move(endless));
  std::string_view line;
  CHECK_THROWS_WITH(reader.next(line), "endless.csv:1: the line is longer than 16777216 bytes");
  CHECK(bytes->given < 4 * LineReader::kLongestLine);
  LineReader peeked("endless.csv", std::make_unique<EndlessBytes>('\n'));
  CHECK_THROWS_AS(peeked.peek(), InputError);
}

TEST_CASE("a NUL byte stops with its line") {
  const TraceFolder folder;
  const std::string path = folder.write("nul", std::string_view("one\ntw\0o\nthree\n", 15));
  CHECK(error_of_lines(path) == path + ":2: a NUL byte: this is no text file, or a damaged one");
}

TEST_CASE("gzip members follow each other as one file; zeros may pad it, other bytes may not") {
  const TraceFolder folder;
  const std::string path = folder.write_gzip("members.gz", {"one\ntw", "o\n", "three"});
  CHECK(lines_of(path) == Lines{"one", "two", "three"});
  const std::string bytes = file_bytes(path);
  CHECK(lines_of(folder.write("padded.gz", bytes + std::string(1000, '\0'))) == Lines{"one", "two", "three"});
  CHECK(error_of_lines(folder.write("tail.gz", bytes + "tail")) ==
        folder.path("tail.gz") + ":3: the gzip file has other bytes behind its end");
}

TEST_CASE("gzip cut anywhere, or with a bit turned over, never reads as another file") {
  const TraceFolder folder;
  std::string text;
  for (int i = 0; i < 500; ++i) text += std::to_string(i * 7919) + "\n";
  const std::string bytes = file_bytes(folder.write_gzip("whole.gz", {text}));
  for (std::size_t size = 2; size < bytes.size(); ++size) {
    const std::string error = error_of_lines(folder.write("cut.gz", bytes.substr(0, size)));
    INFO(size);
    REQUIRE(error.find("the gzip file is truncated") != std::string::npos);
  }
  // A turned bit may stand for the same text (another equal match to copy from), but never for another.
  const Lines whole = lines_of(folder.path("whole.gz"));
  for (std::size_t i = bytes.size() / 2; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    const std::string path = folder.write("damaged.gz", damaged);
    INFO(i);
    REQUIRE((!error_of_lines(path).empty() || lines_of(path) == whole));
  }
}

TEST_CASE("a missing file and a directory are errors that name them") {
  const TraceFolder folder;
  CHECK(error_of_lines(folder.path("absent.csv")) ==
        folder.path("absent.csv") + ": cannot be opened: No such file or directory");
  CHECK(error_of_lines(folder.folder().string()) ==
        folder.folder().string() + ": is a directory, expected a trace file");
}

TEST_CASE("zstd frames follow each other as one file; cut anywhere they are truncated, never shorter") {
  const TraceFolder folder;
  const std::string text = "arrival_s,prompt_tokens,output_tokens\n0,1,2\n1,3,4\n";
  const std::string packed = zstd_frame(text.substr(0, 20)) + zstd_frame("") + zstd_frame(text.substr(20));
  CHECK(read_trace(folder.write("trace.zst", packed)).requests.size() == 2);
  const std::size_t first_frame = zstd_frame(text.substr(0, 20)).size();
  for (std::size_t size = 4; size < packed.size(); ++size) {
    INFO(size);
    const std::string error = error_of(std::string_view(packed).substr(0, size));
    // Cut between frames it is a whole file, of one line that is no known header.
    if (size == first_frame || size == first_frame + zstd_frame("").size()) {
      CHECK(error.find("no known trace format") != std::string::npos);
    } else {
      CHECK(error.find("the zstd file is truncated") != std::string::npos);
    }
  }
  std::string damaged = packed;
  damaged[5] = static_cast<char>(damaged[5] ^ 0x40);
  CHECK_FALSE(error_of(damaged).empty());
}

}  // namespace
}  // namespace blockyard::workload
