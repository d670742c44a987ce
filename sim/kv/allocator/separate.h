// Requests that become several sequences, each a sequence of the inner strategy:
//
//   contiguous, none   memory cannot share: each of the n sequences has the prompt in it, so that contiguous memory
//                      holds n regions a request, all taken at its admission. The prompt is computed once and copied
//                      to the others when the request forks, with the first token after the prompt.
//   prefix cache       the others hold the full blocks of the first one's prompt with it (SequenceNeed::leader), and
//                      what is beyond is their own. The first one's text is the one that is cached and found again;
//                      prompts are found, and what samples wrote beyond it before a preemption is computed again.
//
// The time of the copies at a fork (a prompt's KV or its last block, once through the GPU's memory) is left out.
//
// The inner strategy's demands have to add up: regions do not grow, pages are not kept. An order that decides
// (order_decides()) is kept: the sequences of a request stand side by side in the order of admission.
//
// One sequence id here stands for n of the inner ones. Laws: all of them are admitted, grown and released together, or
// none is; the inner laws hold. Cost: n times the inner cost of an admission, a fork and a release; a decode step costs
// what the inner one does.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "sim/kv/allocator/allocator.h"

namespace blockyard::kv {

class Separate final : public Allocator {
 public:
  // `shares_prompts`: the inner strategy knows leaders.
  Separate(std::unique_ptr<Allocator> inner, bool shares_prompts);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override;
  [[nodiscard]] std::int64_t decode_demand() const override;
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const override;
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override;
  [[nodiscard]] std::int64_t available() const override { return inner_->available(); }
  [[nodiscard]] std::int64_t total_grains() const override { return inner_->total_grains(); }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return inner_->largest_free(); }
  [[nodiscard]] bool order_decides() const override { return inner_->order_decides(); }
  [[nodiscard]] bool recomputes_context() const override { return inner_->recomputes_context(); }
  [[nodiscard]] MemoryWork take_work() override { return inner_->take_work(); }
  [[nodiscard]] bool shares_blocks() const override { return shares_prompts_; }
  [[nodiscard]] BlockSharing sharing() const override;
  [[nodiscard]] std::optional<CacheLedger> cache_ledger() const override { return inner_->cache_ledger(); }
  void advance(SimTime now) override { inner_->advance(now); }
  void step_ended(SimTime now) override { inner_->step_ended(now); }
  bool remember(const Content& content, const ContentOrigin& origin) override {
    return inner_->remember(content, origin);
  }
  void expect(RequestId request) override { inner_->expect(request); }
  void expect_no_more(RequestId request) override { inner_->expect_no_more(request); }

  Tokens find_prefix(SequenceId id, RequestId request, Tokens length) override;
  // What is found is the first one's.
  Tokens cached_prefix(SequenceId id, RequestId request, Tokens length) override;
  [[nodiscard]] std::uint64_t prefix_changes() const override { return inner_->prefix_changes(); }
  [[nodiscard]] bool prefix_comes_later(SequenceId id) const override {
    const SequenceId leader = leader_if_any(id);
    return leader != SequenceId::none && inner_->prefix_comes_later(leader);
  }
  [[nodiscard]] SimTime prefix_arrives(SequenceId id) const override {
    const SequenceId leader = leader_if_any(id);
    return leader == SequenceId::none ? SimTime(0) : inner_->prefix_arrives(leader);
  }
  [[nodiscard]] bool admission_changed(SequenceId id) const override {
    return inner_->admission_changed(leader_if_any(id));
  }
  void forget(SequenceId id) override;

 private:
  struct Request {
    Tokens prompt;
    std::vector<SequenceId> members;  // the first one writes the prompt, and is known until forget()
    std::uint64_t order = 0;          // of admission
    bool waits_to_fork = false;       // decodes, and the others' copies come with the next step
    std::int64_t shared_ahead = 0;    // blocks that the others will share, and hold no part of yet, times the others
  };
  // Of a request, in a step: it grows to `total`, or forks.
  struct Part {
    std::uint64_t order = 0;
    std::size_t member = 0;
    Growth growth;
  };

  [[nodiscard]] SequenceId take_id();
  Request& request_of(SequenceId id);
  [[nodiscard]] SequenceId leader_if_any(SequenceId id) const;
  void release_others(Request& request);
  void count_ahead(Request& request, Tokens written);
  [[nodiscard]] static bool is_forked(const Request& request, Tokens written) { return written > request.prompt; }
  // What the k-th member has written when the request has written `total`.
  [[nodiscard]] static Tokens written_by(const Request& request, std::size_t k, Tokens total) {
    return k == 0 || total > request.prompt ? total : Tokens(0);
  }

  Grant do_admit(SequenceId id, const SequenceNeed& need, Tokens first) override;
  Grant do_grow(SequenceId id, Tokens from, Tokens to) override;
  void do_release(SequenceId id, Tokens written) override;
  void do_start_decoding(SequenceId id, Tokens written) override;
  void do_stop_decoding(SequenceId id, Tokens written) override;
  Grant do_grow_decoding(std::span<const Growth> others) override;

  std::unique_ptr<Allocator> inner_;
  bool shares_prompts_;
  std::vector<Request> requests_;    // by id
  std::vector<SequenceId> forking_;  // those that wait to fork
  std::vector<SequenceId> unused_;   // inner ids
  std::uint32_t ids_ = 0;
  std::uint64_t admissions_ = 0;
  std::int64_t ahead_ = 0;       // sum of shared_ahead
  std::vector<Part> parts_;      // scratch
  std::vector<Growth> growths_;  // scratch
};

}  // namespace blockyard::kv
