#include "sim/kv/allocator/separate.h"

#include <utility>

namespace blockyard::kv {

Separate::Separate(std::unique_ptr<Allocator> inner) : Allocator(inner->capacity()), inner_(std::move(inner)) {}

SequenceId Separate::take_id() {
  if (unused_.empty()) return static_cast<SequenceId>(ids_++);
  const SequenceId id = unused_.back();
  unused_.pop_back();
  return id;
}

void Separate::give_back(Request& request) {
  for (const SequenceId member : request.members) unused_.push_back(member);
  request.members.clear();
}

std::int64_t Separate::admission_demand(SequenceId /*id*/, const SequenceNeed& need, Tokens first) const {
  const Request request{need.prompt, {}, false};
  const std::int64_t own = inner_->admission_demand(SequenceId::none, need, first);
  return own + (need.width - 1) * inner_->admission_demand(SequenceId::none, need, written_by(request, 1, first));
}

std::int64_t Separate::demand(SequenceId id, Tokens total) const {
  const Request& request = requests_[index_of(id)];
  std::int64_t sum = 0;
  for (std::size_t k = 0; k < request.members.size(); ++k) {
    sum += inner_->demand(request.members[k], written_by(request, k, total));
  }
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
  if (index_of(id) >= requests_.size()) requests_.resize(index_of(id) + 1);
  Request& request = requests_[index_of(id)];
  request.prompt = need.prompt;
  request.waits_to_fork = false;
  for (std::size_t k = 0; k < static_cast<std::size_t>(need.width); ++k) {
    const SequenceId member = take_id();
    if (inner_->admit(member, need, written_by(request, k, first)) == Grant::granted) {
      request.members.push_back(member);
      continue;
    }
    unused_.push_back(member);
    for (const SequenceId admitted : request.members) inner_->release(admitted);
    give_back(request);
    const bool enough = inner_->available() >= admission_demand(id, need, first);
    if (enough) set_refused_although_free();
    return Grant::no_space;
  }
  return Grant::granted;
}

Grant Separate::do_grow(SequenceId id, Tokens /*from*/, Tokens to) {
  if (demand(id, to) > inner_->available()) return Grant::no_space;
  const Request& request = requests_[index_of(id)];
  for (std::size_t k = 0; k < request.members.size(); ++k) {
    const Grant grant = inner_->grow(request.members[k], written_by(request, k, to));
    CHECK_LAW(grant == Grant::granted, "sequence {}: a demand that fitted was refused", index_of(id));
  }
  return Grant::granted;
}

void Separate::do_release(SequenceId id, Tokens /*written*/) {
  Request& request = requests_[index_of(id)];
  for (const SequenceId member : request.members) inner_->release(member);
  give_back(request);
}

void Separate::do_start_decoding(SequenceId id, Tokens written) {
  Request& request = requests_[index_of(id)];
  inner_->start_decoding(request.members[0]);
  request.waits_to_fork = written <= request.prompt;
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

Grant Separate::do_grow_decoding(std::span<const Growth> others) {
  growths_.clear();
  for (const Growth& growth : others) {
    const Request& request = requests_[index_of(growth.id)];
    for (std::size_t k = 0; k < request.members.size(); ++k) {
      growths_.push_back({request.members[k], written_by(request, k, growth.total)});
    }
  }
  for (const SequenceId id : forking_) {
    const Request& request = requests_[index_of(id)];
    for (std::size_t k = 1; k < request.members.size(); ++k) {
      growths_.push_back({request.members[k], request.prompt + Tokens(1)});
    }
  }
  if (inner_->grow_decoding(growths_) != Grant::granted) return Grant::no_space;
  for (const SequenceId id : forking_) {
    Request& request = requests_[index_of(id)];
    for (std::size_t k = 1; k < request.members.size(); ++k) inner_->start_decoding(request.members[k]);
    request.waits_to_fork = false;
  }
  forking_.clear();
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
