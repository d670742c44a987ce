// Requests that become several sequences, on memory that cannot share: each of the n sequences is one of the inner
// strategy's own, with the prompt in it. So contiguous memory holds n regions a request, all taken at its admission.
// The prompt is computed once and copied to the others when the request forks, with the first token after the prompt;
// the copy's time (a prompt's KV, once through the GPU's memory) is left out.
//
// The inner strategy's demands have to add up (order_decides() is false): regions do not grow, pages are not kept.
//
// One sequence id here stands for n of the inner ones. Laws: all of them are admitted, grown and released together, or
// none is; the inner laws hold. Cost: n times the inner cost of an admission, a fork and a release; a decode step costs
// what the inner one does.
#pragma once

#include <memory>
#include <vector>

#include "sim/kv/allocator/allocator.h"

namespace blockyard::kv {

class Separate final : public Allocator {
 public:
  explicit Separate(std::unique_ptr<Allocator> inner);

  [[nodiscard]] std::string why_never(const SequenceNeed& need) const override { return inner_->why_never(need); }
  [[nodiscard]] std::int64_t decode_demand() const override;
  [[nodiscard]] std::int64_t demand(SequenceId id, Tokens total) const override;
  [[nodiscard]] std::int64_t admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const override;
  [[nodiscard]] std::int64_t held_grains(SequenceId id) const override;
  [[nodiscard]] std::int64_t available() const override { return inner_->available(); }
  [[nodiscard]] std::int64_t total_grains() const override { return inner_->total_grains(); }
  [[nodiscard]] MemoryPartition partition() const override;
  [[nodiscard]] Tokens largest_free() const override { return inner_->largest_free(); }
  [[nodiscard]] bool admission_changed(SequenceId id) const override { return inner_->admission_changed(id); }
  [[nodiscard]] bool recomputes_context() const override { return inner_->recomputes_context(); }
  [[nodiscard]] MemoryWork take_work() override { return inner_->take_work(); }

 private:
  struct Request {
    Tokens prompt;
    std::vector<SequenceId> members;  // the first one writes the prompt
    bool waits_to_fork = false;       // decodes, and the others' copies come with the next step
  };

  [[nodiscard]] SequenceId take_id();
  void give_back(Request& request);
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
  std::vector<Request> requests_;    // by id
  std::vector<SequenceId> forking_;  // those that wait to fork
  std::vector<SequenceId> unused_;   // inner ids
  std::uint32_t ids_ = 0;
  std::vector<Growth> growths_;  // scratch
};

}  // namespace blockyard::kv
