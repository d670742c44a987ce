// No KV cache at all: each step computes the whole context of every sequence again. The baseline whose cost grows with
// the square of the output length. Memory is never asked for and never short.
#pragma once

#include "sim/kv/allocator/allocator.h"

namespace blockyard::kv {

class NoCache final : public Allocator {
 public:
  using Allocator::Allocator;

  [[nodiscard]] std::string why_never(const SequenceNeed& /*need*/) const override { return ""; }
  [[nodiscard]] std::int64_t decode_demand() const override { return 0; }
  [[nodiscard]] std::int64_t demand(SequenceId /*id*/, Tokens /*total*/) const override { return 0; }
  [[nodiscard]] std::int64_t admission_demand(SequenceId /*id*/, const SequenceNeed& /*need*/,
                                              Tokens /*first*/) const override {
    return 0;
  }
  [[nodiscard]] std::int64_t available() const override { return capacity().count(); }
  [[nodiscard]] std::int64_t total_grains() const override { return capacity().count(); }
  [[nodiscard]] bool recomputes_context() const override { return true; }
  [[nodiscard]] Tokens largest_free() const override { return capacity(); }
  [[nodiscard]] MemoryPartition partition() const override {
    MemoryPartition p;
    p[MemoryState::free] = capacity().count();
    return p;
  }

 private:
  Grant do_admit(SequenceId /*id*/, const SequenceNeed& /*need*/, Tokens /*first*/) override { return Grant::granted; }
  Grant do_grow(SequenceId /*id*/, Tokens /*from*/, Tokens /*to*/) override { return Grant::granted; }
  void do_release(SequenceId /*id*/, Tokens /*written*/) override {}
  void do_start_decoding(SequenceId /*id*/, Tokens /*written*/) override {}
  void do_stop_decoding(SequenceId /*id*/, Tokens /*written*/) override {}
  Grant do_grow_decoding(std::span<const Growth> /*others*/) override { return Grant::granted; }
};

}  // namespace blockyard::kv
