// libFuzzer: any bytes as a trace. They end in requests that keep the reader's laws, or in an InputError; and what was
// read is the same after it was written and read again.
// A text ends as files do (in a line end or a closing bracket) and is read as it comes; other bytes at the end choose
// the format and the options.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/base/check.h"
#include "sim/workload/survey.h"
#include "sim/workload/trace_formats.h"
#include "sim/workload/write_trace.h"
#include "tests/fuzz/memory_file.h"

namespace {

using namespace blockyard;
using namespace blockyard::workload;

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

bool same_but_for_content(const Request& a, const Request& b) {
  return a.arrival == b.arrival && a.prompt_tokens == b.prompt_tokens && a.output_tokens == b.output_tokens &&
         a.max_tokens == b.max_tokens && a.priority == b.priority && a.tenant == b.tenant && a.session == b.session &&
         a.prefix_tokens == b.prefix_tokens && a.reused_tokens == b.reused_tokens && a.delay == b.delay &&
         a.samples == b.samples;
}

void survey_trace(const std::string& path, TraceOptions options) {
  ContentStore contents;
  options.contents = &contents;
  const auto trace = open_trace(path, options);
  const Survey seen = survey(*trace, trace->report(), contents, Tokens(8192));
  const ReadReport& read = trace->report();
  CHECK_LAW(read.rows == read.kept + read.dropped() + read.bad_rows, "{} rows, {} kept, {} dropped, {} bad", read.rows,
            read.kept, read.dropped(), read.bad_rows);
  CHECK_LAW(seen.trace.requests == read.kept, "{} requests, {} kept", seen.trace.requests, read.kept);
  CHECK_LAW(seen.prefixes.hit_tokens <= seen.prefixes.prompt_tokens, "more hits than tokens");
}

void write_and_read_again(const std::string& path, TraceOptions options) {
  ContentStore contents;
  options.contents = &contents;
  const MemoryFile copy("");
  {
    const auto trace = open_trace(path, options);
    const Written written = write_trace(*trace, contents, copy.path(), {"blockyard-jsonl"}, trace->report());
    CHECK_LAW(written.lost.empty(), "{} is lost", written.lost.front().first);
  }
  TraceOptions whole;
  whole.format = "blockyard-jsonl";
  whole.bad_lengths = BadLengths::keep;
  const auto before = open_trace(path, options);
  const auto after = open_trace(copy.path(), whole);
  std::array<Request, 1> a;
  std::array<Request, 1> b;
  while (before->read(a) > 0) {
    CHECK_LAW(after->read(b) > 0, "a request is missing");
    CHECK_LAW(same_but_for_content(a[0], b[0]), "the request at {} ns is another", a[0].arrival.count());
  }
  CHECK_LAW(after->read(b) == 0, "a request is made up");
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
  try {
    survey_trace(file.path(), options);
    write_and_read_again(file.path(), options);
  } catch (const InputError& error) {
    CHECK_LAW(!error.diagnostics().empty(), "an error that says nothing");
  }
  return 0;
}
