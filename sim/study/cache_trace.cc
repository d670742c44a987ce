#include "sim/study/cache_trace.h"

#include <fmt/format.h>

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "sim/base/diagnostics.h"
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

// A trace, some rows at a time.
class Rows {
 public:
  Rows(const std::string& file, workload::TraceOptions how, workload::ContentStore& contents) {
    how.bad_lengths = workload::BadLengths::keep;
    how.contents = &contents;
    source_ = workload::open_trace(file, how);
    next();  // the first rows tell the size of the ids
    ids_block_ = contents.ids_block();
  }
  void next() { count_ = source_->read(rows_); }
  [[nodiscard]] std::span<const workload::Request> some() const { return std::span(rows_).first(count_); }
  [[nodiscard]] Tokens ids_block() const { return ids_block_; }
  [[nodiscard]] const workload::ReadReport& report() const { return source_->report(); }

 private:
  std::unique_ptr<workload::TraceSource> source_;
  std::array<workload::Request, 256> rows_;
  std::size_t count_ = 0;
  Tokens ids_block_;
};

// The names of a request's blocks, one after another.
class Namer {
 public:
  Namer(const CacheTraceOptions& options, Tokens ids_block, Tokens block, serving::PromptContents& contents)
      : contents_(&contents),
        block_(block),
        answers_(options.answers),
        takes_ids_(block == ids_block && options.salt == serving::CacheSalt::none && !options.answers) {}

  [[nodiscard]] Tokens answer(const workload::Request& request) const {
    return answers_ ? request.output_tokens : Tokens(0);
  }
  [[nodiscard]] std::span<const std::int64_t> of(std::uint32_t number, const workload::Request& request) {
    if (takes_ids(request)) return ids_;
    contents_->arrived(RequestId{number}, request, request.output_tokens);
    contents_->content_of(RequestId{number}, content_);
    contents_->ended(RequestId{number});
    return keys(request);
  }
  [[nodiscard]] std::span<const std::int64_t> of_before(std::uint32_t number, const workload::Request& request) {
    if (takes_ids(request)) return ids_;
    contents_->said_before(number, request, content_);
    return keys(request);
  }

 private:
  [[nodiscard]] bool takes_ids(const workload::Request& request) {
    if (!takes_ids_ || request.content == workload::ContentId::none) return false;
    ids_of(contents_->store().at(request.content), block_.count(), ids_);
    contents_->store().drop(request.content);
    return true;
  }
  std::span<const std::int64_t> keys(const workload::Request& request) {
    kv::block_keys(content_, request.prompt_tokens + answer(request), block_, keys_);
    ids_.assign(keys_.begin(), keys_.end());
    return ids_;
  }

  serving::PromptContents* contents_;
  Tokens block_;
  bool answers_;
  bool takes_ids_;  // as they are, where a request has some
  Content content_;
  std::vector<std::uint64_t> keys_;
  std::vector<std::int64_t> ids_;
};

void fill(Rows& rows, Namer& names, kv::ReferenceString& references) {
  std::uint32_t number = 0;
  for (; !rows.some().empty(); rows.next()) {
    for (const workload::Request& request : rows.some()) {
      const kv::ContentOrigin origin = serving::PromptContents::origin(request);
      references.add_before(names.of_before(number++, request), request.prompt_tokens, origin.category, origin.tenant,
                            names.answer(request));
    }
  }
}

Rows rows_before(const std::string& file, Tokens ids_block, workload::ContentStore& contents) {
  workload::TraceOptions how;
  how.untimed = workload::UntimedRows::keep;
  Rows rows(file, how, contents);
  if (ids_block > Tokens(0) && rows.ids_block() != ids_block) {
    throw InputError({file}, fmt::format("its ids name blocks of {} tokens, those of the trace blocks of {}: the same "
                                         "id does not mean the same",
                                         rows.ids_block().count(), ids_block.count()));
  }
  return rows;
}

}  // namespace

CacheTrace read_cache_trace(const std::string& file, const CacheTraceOptions& options) {
  serving::PromptContents contents(options.salt);
  workload::TraceOptions how;
  how.format = options.format;
  how.limit = options.limit;
  Rows rows(file, how, contents.store());
  const Tokens ids_block = rows.ids_block();
  const Tokens block = options.block_size.value_or(ids_block > Tokens(0) ? ids_block : kUsualBlock);
  kv::ReferenceString references(block, options.lookup);
  Namer names(options, ids_block, block, contents);
  if (options.warm) {
    Rows before = rows_before(*options.warm, ids_block, contents.store());
    fill(before, names, references);
  }
  workload::FieldSet told = workload::fields::kNone;
  std::uint32_t number = 0;
  for (; !rows.some().empty(); rows.next()) {
    for (const workload::Request& request : rows.some()) {
      told |= workload::fields_of(request);
      const kv::ContentOrigin origin = serving::PromptContents::origin(request);
      references.add(names.of(number++, request), request.prompt_tokens, request.arrival, origin.category,
                     origin.tenant, names.answer(request));
    }
  }
  constexpr workload::FieldSet kSharing =
      workload::fields::kIds | workload::fields::kSession | workload::fields::kBeginning;
  return {std::move(references), rows.report(), (told & kSharing) != 0};
}

}  // namespace blockyard::study
