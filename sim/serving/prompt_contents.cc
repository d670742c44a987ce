#include "sim/serving/prompt_contents.h"

#include <algorithm>

namespace blockyard::serving {
namespace {

// Token ids of their own for each kind: ids of trace blocks stay below 2^60, beginnings are 2^28 tokens apart from 2^61
// on, first tokens of a salt lie above them, and what a request says for itself 2^30 apart from 2^62 on.
constexpr std::int64_t kPrefixTokens = std::int64_t{1} << 61;
constexpr std::int64_t kSaltTokens = kPrefixTokens + (std::int64_t{1} << 60);
constexpr std::int64_t kOwnTokens = std::int64_t{1} << 62;

std::int64_t prefix_token(std::uint32_t prefix) { return kPrefixTokens + (static_cast<std::int64_t>(prefix) << 28); }
std::int64_t own_token(RequestId id, std::int64_t position) {
  return kOwnTokens + (static_cast<std::int64_t>(id) << 30) + position;
}

std::int64_t length_of(const Content& content) {
  std::int64_t tokens = 0;
  for (const TokenRun& run : content) tokens += run.count;
  return tokens;
}

// Another first token: all blocks of a chain hang on it.
void add_salt(Content& content, std::uint32_t salt) {
  if (content.empty()) return;
  TokenRun& first = content.front();
  const TokenRun rest{first.start + 1, first.count - 1};
  first = {kSaltTokens + salt, 1};
  if (rest.count > 0) content.insert(content.begin() + 1, rest);
}

}  // namespace

PromptContents::Entry PromptContents::enter(RequestId own, const workload::Request& request, Tokens output) {
  Entry entry;
  entry.total = (request.prompt_tokens + output).count();
  entry.origin = origin(request);
  if (request.content != workload::ContentId::none) {
    entry.content = request.content;
    entry.shared = static_cast<std::int32_t>(length_of(store_.at(entry.content)));
  } else if (request.session != 0) {
    Content& said = said_[request.session];
    Content prompt;
    std::int64_t left = std::min<std::int64_t>(request.prompt_tokens.count(), request.reused_tokens);
    // A session may begin as others do.
    if (said.empty()) append_run(said, {prefix_token(request.prefix), request.prefix_tokens});
    for (const TokenRun& run : said) {
      append_run(prompt, {run.start, std::min(run.count, left)});
      left -= std::min(run.count, left);
    }
    entry.content = store_.put(prompt);
    entry.shared = static_cast<std::int32_t>(length_of(prompt));
    said = std::move(prompt);
    append_run(said, {own_token(own, entry.shared), entry.total - entry.shared});
  } else {
    entry.prefix = request.prefix;
    entry.shared = request.prefix_tokens;
  }
  return entry;
}

void PromptContents::spell(RequestId own, const Entry& entry, Content& out) const {
  out.clear();
  if (entry.content != workload::ContentId::none) {
    out = store_.at(entry.content);
  } else {
    append_run(out, {prefix_token(entry.prefix), entry.shared});
  }
  append_run(out, {own_token(own, entry.shared), entry.total - entry.shared});
  if (salt_ == CacheSalt::tenant) add_salt(out, entry.origin.tenant);
  if (salt_ == CacheSalt::request) add_salt(out, static_cast<std::uint32_t>(own));
}

void PromptContents::arrived(RequestId id, const workload::Request& request, Tokens output) {
  const Entry entry = enter(id, request, output);
  if (index_of(id) >= entries_.size()) entries_.resize(index_of(id) + 1);
  entries_[index_of(id)] = entry;
}

void PromptContents::ended(RequestId id) {
  Entry& entry = entries_[index_of(id)];
  if (entry.content != workload::ContentId::none) store_.drop(entry.content);
  entry.content = workload::ContentId::none;
}

void PromptContents::content_of(RequestId request, Content& out) { spell(request, entries_[index_of(request)], out); }

void PromptContents::said_before(std::uint32_t number, const workload::Request& request, Content& out) {
  const RequestId own{UINT32_MAX - number};  // those that arrive are counted from 0
  const Entry entry = enter(own, request, request.output_tokens);
  spell(own, entry, out);
  if (entry.content != workload::ContentId::none) store_.drop(entry.content);
}

}  // namespace blockyard::serving
