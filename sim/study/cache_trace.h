// A trace as the prefix cache sees it: the chain of blocks of each prompt. Where the trace has ids of blocks and no
// other block size is wanted, the ids are taken as they are, the last one too; else blocks are cut from what each
// prompt says (ids of another size, sessions, shared beginnings), and two are one content if all tokens up to their end
// are the same, by a hash of 64 bits. Rows without output are kept. Another trace may say what the cache starts with:
// its requests keep theirs before the first of the others looks anything up. Cost: O(ids), or O(blocks).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/kv/cache/reference_string.h"
#include "sim/serving/prompt_contents.h"
#include "sim/workload/trace.h"

namespace blockyard::study {

struct CacheTraceOptions {
  std::string format = "auto";
  std::optional<Tokens> block_size = {};  // none: that of the ids; 16 where there are none
  std::optional<std::int64_t> limit = {};
  kv::Lookup lookup = kv::Lookup::raw;
  serving::CacheSalt salt = serving::CacheSalt::none;
  bool answers = false;                  // what requests generate is kept too; with the full lookup
  std::optional<std::string> warm = {};  // a trace, its format recognised
};

struct CacheTrace {
  kv::ReferenceString references;
  workload::ReadReport report;
  bool tells_sharing = false;  // some prompt has ids, a session or a beginning that others may share
};

// Throws InputError as the readers do, and where both traces have ids, of blocks of different sizes.
[[nodiscard]] CacheTrace read_cache_trace(const std::string& file, const CacheTraceOptions& options);

}  // namespace blockyard::study
