#include "sim/workload/trace_formats.h"

#include <fmt/format.h>

#include <array>
#include <string>
#include <vector>

#include "sim/workload/formats/azure.h"
#include "sim/workload/formats/blockyard_csv.h"
#include "sim/workload/formats/mooncake.h"
#include "sim/workload/numbers.h"

namespace blockyard::workload {
namespace {

bool tells_nothing(std::string_view /*first_line*/) { return false; }
bool tells_everything(std::string_view /*first_line*/) { return true; }

constexpr std::array<TraceFormat, 3> kFormats{{
    {"azure", "Azure LLM inference traces 2023 and 2024, CSV", kAzureColumns, is_azure, tells_nothing, open_azure},
    {"blockyard", "Blockyard's own CSV", kBlockyardCsvColumns, is_blockyard_csv, has_content_columns,
     open_blockyard_csv},
    {"mooncake", "Mooncake traces, JSON lines; lengths and ids of prompt blocks", kMooncakeKeys, is_mooncake,
     tells_everything, open_mooncake},
}};

}  // namespace

std::span<const TraceFormat> trace_formats() { return kFormats; }

const TraceFormat& find_trace_format(std::string_view name, LineReader& lines) {
  constexpr std::size_t kLineShown = 400;
  if (name != "auto") {
    std::vector<std::string> names{"auto"};
    for (const TraceFormat& format : kFormats) {
      if (format.name == name) return format;
      names.emplace_back(format.name);
    }
    throw InputError({}, fmt::format("unknown trace format {}, known are {}{}", quoted(name), fmt::join(names, ", "),
                                     did_you_mean(name, names)));
  }
  const std::string_view first_line = lines.peek();
  if (first_line.empty()) throw InputError({lines.file()}, "is empty, expected a trace");
  for (const TraceFormat& format : kFormats) {
    if (format.recognise(first_line)) return format;
  }
  std::string known;
  for (const TraceFormat& format : kFormats) known += fmt::format("\n  {}: {}", format.name, format.wanted);
  throw InputError({lines.file(), 1},
                   fmt::format("no known trace format; found {}, wanted one of (or name the format){}",
                               quoted(first_line, kLineShown), known));
}

}  // namespace blockyard::workload
