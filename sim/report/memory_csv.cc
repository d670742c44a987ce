#include "sim/report/memory_csv.h"

#include <system_error>

#include "sim/report/csv.h"

namespace blockyard::report {

namespace {

std::filesystem::path file_in(const std::filesystem::path& folder) {
  std::error_code ignored;  // a file that cannot be made says why
  std::filesystem::create_directories(folder, ignored);
  return folder / MemoryCsv::kFileName;
}

}  // namespace

MemoryCsv::MemoryCsv(const std::filesystem::path& folder) : file_(file_in(folder)) {
  auto out = fmt::appender(file_.buffer());
  fmt::format_to(out, "t_s,request,operation,slots");
  for (const char* state : kMemoryStateNames) fmt::format_to(out, ",{}_bytes", state);
  fmt::format_to(out, "\n");
}

void MemoryCsv::add(SimTime now, const MemoryChange& change, Bytes piece) {
  append_seconds(file_.buffer(), now);
  auto out = fmt::appender(file_.buffer());
  fmt::format_to(out, ",{},{},{}", index_of(change.request),
                 kMemoryOperationNames[static_cast<std::size_t>(change.operation)], change.tokens.count());
  for (const std::int64_t pieces : change.after.slots) fmt::format_to(out, ",{}", pieces * piece.count());
  fmt::format_to(out, "\n");
  file_.spill();
}

void MemoryCsv::close() { file_.close(); }

void MemoryCsv::commit() { file_.commit(); }

}  // namespace blockyard::report
