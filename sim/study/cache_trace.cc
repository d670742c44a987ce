#include "sim/study/cache_trace.h"

#include <array>
#include <vector>

#include "sim/kv/prefix/content_keys.h"
#include "sim/workload/request_fields.h"

namespace blockyard::study {
namespace {

constexpr Tokens kUsualBlock{16};

// The ids of the trace, back from the runs that they became (content_store.h).
void ids_of(const Content& content, std::int64_t block, std::vector<std::int64_t>& out) {
  out.clear();
  for (const TokenRun& run : content) {
    for (std::int64_t at = run.start; at < run.start + run.count; at += block) out.push_back(at / block);
  }
}

}  // namespace

CacheTrace read_cache_trace(const std::string& file, const CacheTraceOptions& options) {
  serving::PromptContents contents(options.salt);
  workload::TraceOptions how;
  how.format = options.format;
  how.bad_lengths = workload::BadLengths::keep;
  how.limit = options.limit;
  how.contents = &contents.store();
  const auto source = workload::open_trace(file, how);

  std::array<workload::Request, 256> some;
  std::size_t count = source->read(some);  // the first rows tell the size of the ids
  const Tokens ids_block = contents.store().ids_block();
  const Tokens block = options.block_size.value_or(ids_block > Tokens(0) ? ids_block : kUsualBlock);
  kv::ReferenceString references(block, options.lookup);
  std::vector<std::int64_t> ids;
  std::vector<std::uint64_t> keys;
  workload::FieldSet told = workload::fields::kNone;
  std::uint32_t number = 0;
  Content content;
  for (; count > 0; count = source->read(some)) {
    for (std::size_t i = 0; i < count; ++i, ++number) {
      const workload::Request& request = some[i];
      told |= workload::fields_of(request);
      const bool has_ids = request.content != workload::ContentId::none;
      if (has_ids && block == ids_block && options.salt == serving::CacheSalt::none && !options.answers) {
        ids_of(contents.store().at(request.content), block.count(), ids);
        contents.store().drop(request.content);
      } else {
        contents.arrived(RequestId{number}, request, request.output_tokens);
        contents.content_of(RequestId{number}, content);
        contents.ended(RequestId{number});
        const Tokens answer = options.answers ? request.output_tokens : Tokens(0);
        kv::block_keys(content, request.prompt_tokens + answer, block, keys);
        ids.assign(keys.begin(), keys.end());
      }
      const kv::ContentOrigin origin = serving::PromptContents::origin(request);
      references.add(ids, request.prompt_tokens, request.arrival, origin.category, origin.tenant,
                     options.answers ? request.output_tokens : Tokens(0));
    }
  }
  constexpr workload::FieldSet kSharing =
      workload::fields::kIds | workload::fields::kSession | workload::fields::kBeginning;
  return {std::move(references), source->report(), (told & kSharing) != 0};
}

}  // namespace blockyard::study
