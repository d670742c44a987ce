// What a trace asks of a prefix cache, without times of computing: for each request the chain of contents of its
// blocks. Contents are dense numbers, each content (block and all before it, if the ids say so) one.
//   raw    every id is looked up and kept, the last one too, which may name a block that is not full
//   full   the engine's rule: looked up are the first floor((prompt - 1) / block) ids, kept the first
//          floor(prompt / block)
// Where answers are kept, a request's ids go on behind its prompt: these are never looked up by it, and kept but for
// the last token, which is never computed (full alone). A request's hits are the leading ids of those looked up that
// are there. What the cache starts with is requests before all others that keep their ids and ask for nothing. Law: ids
// in order, requests in order of arrival.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/quantities.h"

namespace blockyard::kv {

enum class Lookup { raw, full };

class ReferenceString {
 public:
  static constexpr std::uint32_t kNoParent = UINT32_MAX;
  struct Request {
    std::size_t first = 0;        // of its ids
    std::uint32_t ids = 0;        // of its prompt
    std::uint32_t looked_up = 0;  // <= ids, kept
    std::uint32_t kept = 0;       // <= all_ids; of one before the others all that counts, the rest is 0
    std::uint32_t all_ids = 0;    // with those of its answer
    std::uint32_t category = 0;
    std::uint32_t tenant = 0;
    bool repeats = false;     // an id occurs twice: the trace's ids name no chain
    std::int64_t prompt = 0;  // tokens
    SimTime arrival;
  };

  ReferenceString(Tokens block_size, Lookup lookup) : block_size_(block_size), lookup_(lookup) {}

  // `ids` name the blocks of the prompt from its start; a part of a block at its end may have an id or none. With an
  // answer, they are those of both together.
  void add(std::span<const std::int64_t> ids, Tokens prompt, SimTime arrival, std::uint32_t category,
           std::uint32_t tenant = 0, Tokens answer = Tokens(0));

  // What a request said before the first of the others; as above, but that its ids are kept alone.
  void add_before(std::span<const std::int64_t> ids, Tokens prompt, std::uint32_t category, std::uint32_t tenant = 0,
                  Tokens answer = Tokens(0));

  [[nodiscard]] const std::vector<Request>& requests() const { return requests_; }
  // Of them, the first ones that ask for nothing; and how many do ask.
  [[nodiscard]] std::size_t before() const { return before_; }
  [[nodiscard]] std::int64_t asking() const { return static_cast<std::int64_t>(requests_.size() - before_); }
  [[nodiscard]] std::span<const std::uint32_t> ids(const Request& r) const {
    return std::span(ids_).subspan(r.first, r.all_ids);
  }
  [[nodiscard]] std::uint32_t contents() const { return static_cast<std::uint32_t>(number_of_.size()); }
  // Those that prompts name, and those that requests before them did. O(blocks).
  [[nodiscard]] std::int64_t asked_contents() const { return named_by(before_, requests_.size()); }
  [[nodiscard]] std::int64_t contents_before() const { return named_by(0, before_); }
  [[nodiscard]] std::int64_t blocks() const { return blocks_; }  // of prompts
  [[nodiscard]] std::int64_t all_blocks() const { return static_cast<std::int64_t>(ids_.size()); }
  [[nodiscard]] Tokens prompt_tokens() const { return prompt_tokens_; }
  [[nodiscard]] Tokens block_size() const { return block_size_; }
  [[nodiscard]] Lookup lookup() const { return lookup_; }
  // The content before this one in the chain that named it first; it has a smaller number.
  [[nodiscard]] std::uint32_t parent(std::uint32_t content) const { return parents_[content]; }
  [[nodiscard]] bool has_chains() const { return has_chains_; }
  // Tokens in the first `blocks` blocks of a request.
  [[nodiscard]] std::int64_t tokens(const Request& r, std::int64_t blocks) const {
    return blocks * block_size_.count() < r.prompt ? blocks * block_size_.count() : r.prompt;
  }

  // For each id of each request (by place in the whole string), the request that looks it up next after that one;
  // kNeverUsed if none does. O(blocks).
  [[nodiscard]] std::vector<std::int64_t> next_uses() const;
  // The same requests with every id by itself, as a request of one block: what a cache of unrelated objects would be
  // asked.
  [[nodiscard]] ReferenceString flattened() const;
  // The requests with only those ids that a hash of id and `salt` picks, about `share` of them.
  [[nodiscard]] ReferenceString sampled(double share, std::uint64_t salt) const;

 private:
  Request& append(std::span<const std::int64_t> ids, Tokens prompt, Tokens answer);
  [[nodiscard]] std::int64_t named_by(std::size_t first, std::size_t end) const;

  Tokens block_size_;
  Lookup lookup_;
  std::vector<std::uint32_t> ids_;
  std::vector<Request> requests_;
  boost::unordered_flat_map<std::int64_t, std::uint32_t> number_of_;
  std::vector<std::uint32_t> parents_;   // by content
  std::vector<std::uint32_t> named_by_;  // by content: the last request that named it
  bool has_chains_ = false;
  std::size_t before_ = 0;
  std::int64_t blocks_ = 0;
  Tokens prompt_tokens_;
};

}  // namespace blockyard::kv
