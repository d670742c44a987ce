// Every strategy once more, in the plainest words: rows of slots, lists of blocks, counts of pages, recomputed from
// scratch whenever they are asked for. What the conformance suite holds the allocators against.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

#include "sim/kv/allocator/strategies.h"

namespace blockyard::kv_tests {

struct Sequence {
  kv::SequenceNeed need;
  Tokens written;
  bool decoding = false;
  CohortId cohort{};        // while it decodes
  std::uint64_t order = 0;  // of admission
};

class NaiveMemory {
 public:
  NaiveMemory() = default;
  virtual ~NaiveMemory() = default;

  bool admit(std::uint32_t n, const kv::SequenceNeed& need, Tokens first);
  bool grow(std::uint32_t n, Tokens total);
  void release(std::uint32_t n);
  // All decoding sequences of the cohort by one token and `others` to their totals, in order of admission, or nobody.
  bool grow_decoding(CohortId cohort, const std::map<std::uint32_t, Tokens>& others);
  virtual void forget(std::uint32_t /*n*/) {}
  void clear_refusal() { external_ = false; }

  [[nodiscard]] virtual MemoryPartition partition() const = 0;
  [[nodiscard]] virtual std::int64_t largest_free() const = 0;
  [[nodiscard]] const std::map<std::uint32_t, Sequence>& held() const { return held_; }
  [[nodiscard]] std::map<std::uint32_t, Sequence>& held() { return held_; }
  [[nodiscard]] std::int64_t written() const;
  [[nodiscard]] const kv::MemoryWork& work() const { return work_; }

 protected:
  NaiveMemory(const NaiveMemory&) = default;
  NaiveMemory& operator=(const NaiveMemory&) = default;
  [[nodiscard]] virtual std::unique_ptr<NaiveMemory> clone() const = 0;
  virtual void become(const NaiveMemory& other) = 0;
  virtual bool take(std::uint32_t n, const kv::SequenceNeed& need, Tokens first) = 0;
  virtual bool extend(std::uint32_t n, Tokens total, bool alone) = 0;  // alone: it may move others
  virtual void give(std::uint32_t n) = 0;

  std::map<std::uint32_t, Sequence> held_;
  std::uint64_t admissions_ = 0;
  bool external_ = false;
  kv::MemoryWork work_;
};

template <class Self>
class Copyable : public NaiveMemory {
 protected:
  [[nodiscard]] std::unique_ptr<NaiveMemory> clone() const override {
    return std::make_unique<Self>(static_cast<const Self&>(*this));
  }
  void become(const NaiveMemory& other) override { static_cast<Self&>(*this) = static_cast<const Self&>(other); }
};

// None for a strategy that has no reference yet.
std::unique_ptr<NaiveMemory> make_reference(std::string_view strategy, const kv::MemoryOptions& options,
                                            const std::vector<kv::PageGeometry::Tensors>& tensors, Bytes page);

}  // namespace blockyard::kv_tests
