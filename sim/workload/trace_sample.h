// Which requests a sample of a trace keeps: all of a group or none, so that what they share survives. A group is, by
// what the trace tells (the first of these that a request has):
//   a session           all its requests
//   ids of blocks       all requests that share the first of their ids which few have: at most one request in 200
//                       (or one alone). A system prompt that everyone has binds nobody, a conversation or a document
//                       does
//   a shared beginning  likewise, if at most one request in 200 has it
//   nothing             each request is its own group
// A group is kept with probability `fraction`, by a hash of the seed and its name: the same seed keeps the same groups,
// a larger fraction keeps them and more. Two passes: count() all, then keeps() in the same order. Memory: the distinct
// ids.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "sim/workload/content_store.h"
#include "sim/workload/request.h"

namespace blockyard::workload {

class TraceSample {
 public:
  TraceSample(double fraction, std::uint64_t seed) : fraction_(fraction), seed_(seed) {}

  void set_block(Tokens block) { block_ = block; }
  void count(std::span<const Request> requests, const ContentStore& contents);
  [[nodiscard]] bool keeps(const Request& request, const ContentStore& contents);

 private:
  enum class Kind : std::uint8_t { alone, session, id, prefix };
  [[nodiscard]] bool is_drawn(Kind kind, std::uint64_t name) const;
  [[nodiscard]] bool binds(std::int64_t requests) const;

  double fraction_;
  std::uint64_t seed_;
  Tokens block_{512};
  std::int64_t counted_ = 0;
  std::int64_t asked_ = 0;
  std::unordered_map<std::int64_t, std::int64_t> with_id_;
  std::unordered_map<std::uint32_t, std::int64_t> with_prefix_;
  std::vector<std::int64_t> ids_;
};

}  // namespace blockyard::workload
