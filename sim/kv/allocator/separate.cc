#include "sim/kv/allocator/separate.h"

#include <algorithm>
#include <utility>

namespace blockyard::kv {

Separate::Separate(std::unique_ptr<Allocator> inner, bool shares_prompts)
    : Allocator(inner->capacity()), inner_(std::move(inner)), shares_prompts_(shares_prompts) {}

SequenceId Separate::take_id() {
  if (unused_.empty()) return static_cast<SequenceId>(ids_++);
  const SequenceId id = unused_.back();
  unused_.pop_back();
  return id;
}

// With its first member.
Separate::Request& Separate::request_of(SequenceId id) {
  if (index_of(id) >= requests_.size()) requests_.resize(index_of(id) + 1);
  Request& request = requests_[index_of(id)];
  if (request.members.empty()) request.members.push_back(take_id());
  return request;
}

SequenceId Separate::leader_if_any(SequenceId id) const {
  if (id == SequenceId::none || index_of(id) >= requests_.size() || requests_[index_of(id)].members.empty()) {
    return SequenceId::none;
  }
  return requests_[index_of(id)].members[0];
}

Tokens Separate::find_prefix(SequenceId id, RequestId request, Tokens length) {
  return shares_prompts_ ? inner_->find_prefix(request_of(id).members[0], request, length) : Tokens(0);
}

Tokens Separate::cached_prefix(SequenceId id, RequestId request, Tokens length) {
  return shares_prompts_ ? inner_->cached_prefix(request_of(id).members[0], request, length) : Tokens(0);
}

void Separate::forget(SequenceId id) {
  const SequenceId leader = leader_if_any(id);
  if (leader == SequenceId::none) return;
  inner_->forget(leader);
  unused_.push_back(leader);
  requests_[index_of(id)].members.clear();
}

// Until the request forks the others share, without holding them, the blocks of the first.
void Separate::count_ahead(Request& request, Tokens written) {
  if (!shares_prompts_) return;
  const auto others = std::ssize(request.members) - 1;
  const std::int64_t ahead = is_forked(request, written) ? 0 : others * inner_->held_grains(request.members[0]);
  ahead_ += ahead - request.shared_ahead;
  request.shared_ahead = ahead;
}

BlockSharing Separate::sharing() const {
  BlockSharing sharing = inner_->sharing();
  sharing.unshared += Blocks(ahead_);
  return sharing;
}

std::string Separate::why_never(const SequenceNeed& need) const {
  std::string why = inner_->why_never(need);
  const std::int64_t demand = whole_demand(need);
  if (!why.empty() || demand <= total_grains()) return why;
  return fmt::format("its {} samples need {} blocks or tokens together, the pool has {}", need.width, demand,
                     total_grains());
}

std::int64_t Separate::admission_demand(SequenceId id, const SequenceNeed& need, Tokens first) const {
  Request request;
  request.prompt = need.prompt;
  SequenceNeed other = need;
  if (shares_prompts_) other.leader = SequenceId{0};  // whoever it will be
  const std::int64_t own = inner_->admission_demand(leader_if_any(id), need, first);
  return own + (need.width - 1) * inner_->admission_demand(SequenceId::none, other, written_by(request, 1, first));
}

std::int64_t Separate::demand(SequenceId id, Tokens total) const {
  const Request& request = requests_[index_of(id)];
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < request.members.size(); ++k) {
    sum += inner_->demand(request.members[k], written_by(request, k, total));
  }
  return sum;
}

std::int64_t Separate::held_grains(SequenceId id) const {
  std::int64_t sum = 0;
  for (const SequenceId member : requests_[index_of(id)].members) sum += inner_->held_grains(member);
  return sum;
}

std::int64_t Separate::decode_demand() const {
  std::int64_t sum = inner_->decode_demand();
  for (const SequenceId id : forking_) {
    const Request& request = requests_[index_of(id)];
    for (std::size_t k = 1; k < request.members.size(); ++k) {
      sum += inner_->demand(request.members[k], request.prompt + Tokens(1));
    }
  }
  return sum;
}

Grant Separate::do_admit(SequenceId id, const SequenceNeed& need, Tokens first) {
  Request& request = request_of(id);
  request.prompt = need.prompt;
  request.waits_to_fork = false;
  if (admission_demand(id, need, first) > inner_->available()) return Grant::no_space;
  SequenceNeed its = need;
  for (std::size_t k = 0; k < static_cast<std::size_t>(need.width); ++k) {
    if (k == 1 && shares_prompts_) its.leader = request.members[0];
    const SequenceId member = k == 0 ? request.members[0] : take_id();
    if (inner_->admit(member, its, written_by(request, k, first)) == Grant::granted) {
      if (k > 0) request.members.push_back(member);
      continue;
    }
    CHECK_LAW(!shares_prompts_, "sequence {}: a demand that fitted was refused", index_of(id));
    if (k > 0) {
      unused_.push_back(member);
      release_others(request);
      inner_->release(request.members[0]);
    }
    set_refused_although_free();
    return Grant::no_space;
  }
  request.order = admissions_++;
  count_ahead(request, first);
  return Grant::granted;
}

Grant Separate::do_grow(SequenceId id, Tokens /*from*/, Tokens to) {
  if (demand(id, to) > inner_->available()) return Grant::no_space;
  Request& request = requests_[index_of(id)];
  for (std::size_t k = 0; k < request.members.size(); ++k) {
    const Grant grant = inner_->grow(request.members[k], written_by(request, k, to));
    CHECK_LAW(grant == Grant::granted, "sequence {}: a demand that fitted was refused", index_of(id));
  }
  count_ahead(request, to);
  return Grant::granted;
}

void Separate::release_others(Request& request) {
  for (std::size_t k = 1; k < request.members.size(); ++k) {
    inner_->release(request.members[k]);
    unused_.push_back(request.members[k]);
  }
  request.members.resize(1);
}

void Separate::do_release(SequenceId id, Tokens /*written*/) {
  Request& request = requests_[index_of(id)];
  ahead_ -= request.shared_ahead;
  request.shared_ahead = 0;
  inner_->release(request.members[0]);
  release_others(request);
}

void Separate::do_start_decoding(SequenceId id, Tokens written) {
  Request& request = requests_[index_of(id)];
  inner_->start_decoding(request.members[0]);
  request.waits_to_fork = !is_forked(request, written);
  if (request.waits_to_fork) {
    forking_.push_back(id);
  } else {
    for (std::size_t k = 1; k < request.members.size(); ++k) inner_->start_decoding(request.members[k]);
  }
}

void Separate::do_stop_decoding(SequenceId id, Tokens /*written*/) {
  Request& request = requests_[index_of(id)];
  inner_->stop_decoding(request.members[0]);
  if (request.waits_to_fork) {
    std::erase(forking_, id);
    request.waits_to_fork = false;
  } else {
    for (std::size_t k = 1; k < request.members.size(); ++k) inner_->stop_decoding(request.members[k]);
  }
}

// The inner strategy wants those who grow in order of admission.
Grant Separate::do_grow_decoding(std::span<const Growth> others) {
  parts_.clear();
  for (const Growth& growth : others) {
    const Request& request = requests_[index_of(growth.id)];
    for (std::size_t k = 0; k < request.members.size(); ++k) {
      parts_.push_back({request.order, k, {request.members[k], written_by(request, k, growth.total)}});
    }
  }
  for (const SequenceId id : forking_) {
    const Request& request = requests_[index_of(id)];
    for (std::size_t k = 1; k < request.members.size(); ++k) {
      parts_.push_back({request.order, k, {request.members[k], request.prompt + Tokens(1)}});
    }
  }
  std::ranges::sort(parts_, {}, [](const Part& part) { return std::pair(part.order, part.member); });
  growths_.clear();
  for (const Part& part : parts_) growths_.push_back(part.growth);
  if (inner_->grow_decoding(growths_) != Grant::granted) return Grant::no_space;
  for (const SequenceId id : forking_) {
    Request& request = requests_[index_of(id)];
    for (std::size_t k = 1; k < request.members.size(); ++k) inner_->start_decoding(request.members[k]);
    request.waits_to_fork = false;
    count_ahead(request, request.prompt + Tokens(1));
  }
  forking_.clear();
  for (const Growth& growth : others) count_ahead(requests_[index_of(growth.id)], growth.total);
  return Grant::granted;
}

// The refusal is the request's: the inner strategy forgets it when what it had admitted of the request is given back.
MemoryPartition Separate::partition() const {
  MemoryPartition p = inner_->partition();
  const std::int64_t free = p[MemoryState::external] + p[MemoryState::free];
  p[MemoryState::external] = refused_although_free() ? free : 0;
  p[MemoryState::free] = free - p[MemoryState::external];
  return p;
}

}  // namespace blockyard::kv
