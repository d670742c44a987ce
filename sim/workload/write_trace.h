// Traces into files of other formats. A file appears whole or not at all (base/pending_file.h).
//   blockyard        our CSV (formats/blockyard_csv.h): all but ids of blocks
//   blockyard-jsonl  our JSON lines: everything
//   mooncake         times in ms, hash_ids of 512-token blocks, session_id, delay, priority
//   vllm-timed       likewise with 16-token blocks, on every row, and without sessions
//   vidur            seconds and the two lengths
// Law: what a format can say is read back the same, arrivals and delays to the nanosecond; what it cannot is counted.
// Ids are numbered anew, in order of first sight (block_names.h), and keep who shares what with whom. Prompts that
// share a beginning get ids in the formats that have no other way to say it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/workload/content_store.h"
#include "sim/workload/keyed_ids.h"
#include "sim/workload/request.h"
#include "sim/workload/row_writer.h"
#include "sim/workload/trace.h"

namespace blockyard::workload {

struct OutputFormat {
  std::string_view name;
  std::string_view doc;
  RowForm form;
};
[[nodiscard]] std::span<const OutputFormat> output_formats();
[[nodiscard]] const OutputFormat& find_output_format(std::string_view name);  // InputError names those there are

struct OutputOptions {
  std::string format = "blockyard";  // a name in output_formats()
  const KeyedIds* names = nullptr;   // not null: ids, sessions, tenants and prefixes go through it
  FieldSet fields = fields::kAll;    // those that are written, if the format can say them
};

struct Written {
  std::int64_t requests = 0;
  std::vector<std::pair<std::string, std::int64_t>> lost;  // what was not written, and of how many requests
};

// Reads the source to its end; contents are dropped. `read`: the report of the trace behind it, for the size of blocks
// and the names of categories. Throws InputError for an unknown format (or where the source does), WriteError where the
// file cannot be written.
Written write_trace(RequestSource& source, ContentStore& contents, const std::string& path,
                    const OutputOptions& options, const ReadReport& read);
// Of a source without contents and categories.
Written write_trace(RequestSource& source, const std::string& path, const OutputOptions& options = {});

}  // namespace blockyard::workload
