// KV memory as the serving loop sees it: how full it is, whatever hands it out. Law: partition().total() ==
// total_pieces() at every instant. Demand and availability are counted in grains, the smallest piece that is handed out
// (a block, a slot). Every call O(1).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/cache_ledger.h"
#include "sim/base/ids.h"
#include "sim/base/memory_change.h"
#include "sim/base/memory_states.h"
#include "sim/base/quantities.h"
#include "sim/kv/content.h"

namespace blockyard::kv {

// What is known of a sequence when it asks for memory. A sequence writes prompt + output - 1 tokens: the last is never
// computed.
struct SequenceNeed {
  Tokens prompt;
  Tokens true_end;      // prompt + output - 1
  Tokens declared_end;  // prompt + max_tokens - 1
  // Sequences that the request becomes after its prompt, each to the lengths above (allocator/paged_forks.h).
  std::int64_t width = 1;
  RequestId request{};  // whose it is: names the random stream of its beams
  // The sequence of the same request, admitted before, whose prompt it shares from its first token on, which is beyond
  // the prompt (named blocks alone; allocator/separate.h).
  SequenceId leader = SequenceId::none;
};

// Blocks that owners hold, and those they would hold if no two sequences of a request shared one.
struct BlockSharing {
  Blocks held;
  Blocks unshared;
};

// What handing out memory has cost. Copies are within the GPU: each token is read once and written once. Pages are
// those of one GPU; all GPUs of a replica do the same at the same time.
struct MemoryWork {
  Tokens copied;
  std::int64_t compactions = 0;
  std::int64_t pages_mapped = 0;
  std::int64_t pages_unmapped = 0;
  SimTime until;  // blocks that were taken may not be written before: they are on their way to a tier below

  [[nodiscard]] bool any() const {
    return copied > Tokens(0) || compactions > 0 || pages_mapped > 0 || pages_unmapped > 0 || until > SimTime(0);
  }
};

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  virtual ~Memory() = default;

  // Why the sequence could not be held even by an empty pool, "" if it could.
  [[nodiscard]] virtual std::string why_never(const SequenceNeed& need) const = 0;
  // Grains that it takes at its end.
  [[nodiscard]] virtual std::int64_t whole_demand(const SequenceNeed& need) const = 0;
  [[nodiscard]] virtual std::int64_t available() const = 0;
  [[nodiscard]] virtual std::int64_t total_grains() const = 0;
  [[nodiscard]] virtual Tokens capacity() const = 0;
  [[nodiscard]] virtual MemoryPartition partition() const = 0;
  [[nodiscard]] virtual Tokens largest_free() const = 0;
  // Time passes; told before a step is planned. Only what forgets by time listens.
  virtual void advance(SimTime /*now*/) {}
  // A step has ended: what it computed is there. Only what copies beside the steps listens.
  virtual void step_ended(SimTime /*now*/) {}
  // Before anything else: the full blocks of a content, as far as they fit, are cached as if a sequence had computed
  // them and ended; nothing of it counts. False, and nothing has changed, where there is no prefix cache.
  virtual bool remember(const Content& /*content*/, const ContentOrigin& /*origin*/) { return false; }
  // What the prefix cache did so far; none without one. O(capacity).
  [[nodiscard]] virtual std::optional<CacheLedger> cache_ledger() const { return std::nullopt; }
  // True if several sequences of a request share blocks here: then sharing() tells how many.
  [[nodiscard]] virtual bool shares_blocks() const { return false; }
  [[nodiscard]] virtual BlockSharing sharing() const { return {}; }
  // The partition counts pieces: tokens, but for memory whose pages or blocks cut tokens apart.
  [[nodiscard]] virtual std::int64_t total_pieces() const { return capacity().count(); }
  [[nodiscard]] virtual std::int64_t largest_free_pieces() const { return largest_free().count(); }
  // What has been done since the last call: to be charged to the step in hand.
  [[nodiscard]] virtual MemoryWork take_work() { return std::exchange(work_, MemoryWork{}); }
  // Is told of every change, one sequence at a time: a caller that listens lets sequences decode one by one, not all
  // together.
  void listen(MemoryListener listener) { listener_ = std::move(listener); }
  // Whose a sequence is; before it is admitted.
  void belongs(SequenceId id, RequestId request) {
    if (!listener_) return;
    if (index_of(id) >= owners_.size()) owners_.resize(index_of(id) + 1);
    owners_[index_of(id)] = request;
  }
  // True if nothing is kept between steps, so that each step computes the whole context again.
  [[nodiscard]] virtual bool recomputes_context() const { return false; }

 protected:
  [[nodiscard]] MemoryWork& work() { return work_; }
  void tell(MemoryOperation operation, SequenceId id, Tokens tokens) {
    if (listener_) tell_listener(operation, id, tokens);
  }

 private:
  void tell_listener(MemoryOperation operation, SequenceId id, Tokens tokens);

  MemoryWork work_;
  MemoryListener listener_;
  std::vector<RequestId> owners_;  // by sequence, while somebody listens
};

}  // namespace blockyard::kv
