#include "sim/workload/prefix_statistics.h"

#include <algorithm>

namespace blockyard::workload {
namespace {

constexpr std::int64_t kDenseIds = std::int64_t{1} << 27;
constexpr std::uint8_t kAnyBlock = 1;
constexpr std::uint8_t kFullBlock = 2;

}  // namespace

void append_ids(const Content& content, Tokens block, std::vector<std::int64_t>& ids) {
  for (const TokenRun& run : content) {
    for (std::int64_t at = 0; at < run.count; at += block.count()) ids.push_back((run.start + at) / block.count());
  }
}

std::uint8_t& PrefixMeter::seen(std::int64_t id) {
  if (id >= kDenseIds) return sparse_[id];
  const std::size_t index = static_cast<std::size_t>(id);
  if (index >= dense_.size()) dense_.resize(std::max<std::size_t>(index + 1, 2 * dense_.size()));
  return dense_[index];
}

void PrefixMeter::add_hit(std::int64_t tokens) {
  sums_.hit_tokens += Tokens(tokens);
  if (tokens > 0) ++sums_.repeating;
}

void PrefixMeter::add_ids(const Request& request, const Content& content) {
  ids_.clear();
  append_ids(content, block_, ids_);
  const std::int64_t count = std::ssize(ids_);
  const std::int64_t prompt = request.prompt_tokens.count();
  const auto leading = [&](std::int64_t most, std::uint8_t kind) {
    std::int64_t hits = 0;
    while (hits < most && (seen(ids_[static_cast<std::size_t>(hits)]) & kind) != 0) ++hits;
    return hits;
  };
  const std::int64_t hits = leading(count, kAnyBlock);
  const std::int64_t engine_hits = leading(std::min(count, (prompt - 1) / block_.count()), kFullBlock);
  sums_.ids += count;
  sums_.longest_ids = std::max(sums_.longest_ids, count);
  sums_.hit_ids += hits;
  sums_.engine_hit_ids += engine_hits;
  add_hit(std::min(hits * block_.count(), prompt));
  sums_.engine_hit_tokens += Tokens(engine_hits * block_.count());
  if (count > 0 && hits == 0) ++sums_.roots;
  for (std::int64_t i = 0; i < count; ++i) {
    std::uint8_t& kinds = seen(ids_[static_cast<std::size_t>(i)]);
    if (kinds == 0) ++sums_.distinct_ids;
    kinds |= kAnyBlock;
    if (i < prompt / block_.count()) kinds |= kFullBlock;
  }
}

void PrefixMeter::add(std::span<const Request> requests, const ContentStore& contents) {
  for (const Request& request : requests) {
    const std::int64_t prompt = request.prompt_tokens.count();
    sums_.prompt_tokens += request.prompt_tokens;
    Session* const session = request.session == 0 ? nullptr : &sessions_[request.session];
    if (session != nullptr) {
      ++sums_.requests_in_sessions;
      sums_.longest_session = std::max(sums_.longest_session, ++session->requests);
    }
    std::int64_t hit = 0;
    if (request.content != ContentId::none) {
      add_ids(request, contents.at(request.content));
    } else if (session != nullptr) {
      hit = std::min({prompt, session->said, std::int64_t{request.reused_tokens}});
    } else if (request.prefix_tokens > 0) {
      std::int64_t& longest = prefixes_[request.prefix];
      hit = std::min<std::int64_t>(request.prefix_tokens, longest);
      longest = std::max<std::int64_t>(longest, request.prefix_tokens);
    }
    if (session != nullptr) session->said = prompt + request.output_tokens.count();
    if (request.content != ContentId::none) continue;
    add_hit(hit);
    sums_.engine_hit_tokens += Tokens(std::min(hit, prompt - 1));
  }
}

PrefixStatistics PrefixMeter::statistics() const {
  PrefixStatistics result = sums_;
  result.sessions = std::ssize(sessions_);
  result.shared_prefixes = std::ssize(prefixes_);
  return result;
}

}  // namespace blockyard::workload
