#include "sim/workload/write_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"

namespace blockyard::workload {
namespace {

constexpr FieldSet kMooncakeSays =
    fields::kPriority | fields::kSession | fields::kDelay | fields::kBeginning | fields::kIds;

constexpr std::array kFormats{
    OutputFormat{"blockyard",
                 "Blockyard's own CSV; all but ids of blocks",
                 {RowLayout::blockyard_csv, fields::kAll & ~fields::kIds, Tokens(0)}},
    OutputFormat{"blockyard-jsonl",
                 "Blockyard's own JSON lines; ids of blocks too",
                 {RowLayout::blockyard_jsonl, fields::kAll, Tokens(0)}},
    OutputFormat{"mooncake",
                 "JSON lines; ids of 512-token blocks, sessions, delays",
                 {RowLayout::mooncake, kMooncakeSays, Tokens(512)}},
    OutputFormat{"vidur", "CSV; times and lengths alone", {RowLayout::vidur, fields::kNone, Tokens(0)}},
    OutputFormat{"vllm-timed",
                 "JSON lines for vLLM's timed_trace; ids of 16-token blocks",
                 {RowLayout::mooncake, fields::kBeginning | fields::kIds, Tokens(16)}},
};

}  // namespace

std::span<const OutputFormat> output_formats() { return kFormats; }

const OutputFormat& find_output_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &OutputFormat::name);
  if (found != kFormats.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const OutputFormat& format : kFormats) names.emplace_back(format.name);
  throw InputError({}, fmt::format("no trace is written as \"{}\", only as {}{}", name, fmt::join(names, ", "),
                                   did_you_mean(name, names)));
}

Written write_trace(RequestSource& source, ContentStore& contents, const std::string& path,
                    const OutputOptions& options, const ReadReport& read) {
  if (path.ends_with(".gz") || path.ends_with(".zst"))
    throw InputError({path}, "traces are written plain; expected a name without .gz or .zst");
  RowForm form = find_output_format(options.format).form;
  form.says &= options.fields;
  std::array<std::int64_t, kFieldNames.size()> lost{};
  Written written;
  PendingFile file(path);
  RowWriter writer(form, options.names, contents, read);
  writer.header(file.buffer());
  std::array<Request, 256> requests;
  while (const std::size_t count = source.read(requests)) {
    for (const Request& request : std::span(requests).first(count)) {
      const FieldSet unsaid = fields_of(request) & ~form.says;
      for (std::size_t i = 0; i < lost.size() && unsaid != 0; ++i) {
        if ((unsaid >> i & 1U) != 0) ++lost[i];
      }
      writer.row(file.buffer(), request);
      if (request.content != ContentId::none) contents.drop(request.content);
      ++written.requests;
    }
    file.spill();
  }
  file.close();
  file.commit();
  for (std::size_t i = 0; i < lost.size(); ++i) {
    if (lost[i] > 0) written.lost.emplace_back(kFieldNames[i], lost[i]);
  }
  return written;
}

Written write_trace(RequestSource& source, const std::string& path, const OutputOptions& options) {
  ContentStore contents;
  return write_trace(source, contents, path, options, ReadReport{});
}

}  // namespace blockyard::workload
