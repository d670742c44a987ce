// libFuzzer: any bytes as a trace. They end in requests that keep the reader's laws, or in an InputError.
// A text ends as files do (in a line end or a closing bracket) and is read as it comes; other bytes at the end choose
// the format and the options.
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/check.h"
#include "sim/workload/survey.h"
#include "sim/workload/trace_formats.h"

namespace {

using namespace blockyard;
using namespace blockyard::workload;

struct MemoryFile {
  explicit MemoryFile(std::string_view bytes) : descriptor(::memfd_create("trace", MFD_CLOEXEC)) {
    CHECK_LAW(descriptor >= 0, "no memory file");
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(descriptor, bytes.data() + done, bytes.size() - done);
      CHECK_LAW(count > 0, "no room in a memory file");
      done += static_cast<std::size_t>(count);
    }
  }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() { ::close(descriptor); }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor); }

  int descriptor;
};

TraceOptions options_of(std::uint8_t format, std::uint8_t flags) {
  TraceOptions options;
  const auto formats = trace_formats();
  if (format % (formats.size() + 1) > 0) options.format = formats[format % (formats.size() + 1) - 1].name;
  options.header = options.format == "auto" || (flags & 1) == 0;
  options.untimed = (flags & 2) != 0 ? UntimedRows::refuse : UntimedRows::keep;
  options.bad_lengths = (flags & 4) != 0 ? BadLengths::keep : BadLengths::drop;
  options.max_bad_rows = (flags & 8) != 0 ? 3 : 0;
  options.reorder_window = (flags & 16) != 0 ? 2 : 1000;
  options.partial_ids = (flags & 32) != 0 ? PartialIds::either : PartialIds::by_format;
  if ((flags & 64) != 0) options.hash_block = 4;
  return options;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TraceOptions options = options_of(0, 0);
  if (size > 2 && bytes.back() != '\n' && bytes.back() != '}' && bytes.back() != ']') {
    options = options_of(data[size - 1], data[size - 2]);
    bytes.remove_suffix(2);
  }
  const MemoryFile file(bytes);
  ContentStore contents;
  options.contents = &contents;
  try {
    const auto trace = open_trace(file.path(), options);
    const Survey seen = survey(*trace, trace->report(), contents, Tokens(8192));
    const ReadReport& read = trace->report();
    CHECK_LAW(read.rows == read.kept + read.dropped() + read.bad_rows, "{} rows, {} kept, {} dropped, {} bad",
              read.rows, read.kept, read.dropped(), read.bad_rows);
    CHECK_LAW(seen.trace.requests == read.kept, "{} requests, {} kept", seen.trace.requests, read.kept);
    CHECK_LAW(seen.prefixes.hit_tokens <= seen.prefixes.prompt_tokens, "more hits than tokens");
  } catch (const InputError& error) {
    CHECK_LAW(!error.diagnostics().empty(), "an error that says nothing");
  }
  return 0;
}
