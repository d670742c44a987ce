#include "sim/kv/allocator/virtual.h"

#include <algorithm>

namespace blockyard::kv {

Virtual::Virtual(std::int64_t pages, const PageGeometry& geometry, bool keep_pages)
    : Allocator(geometry.most_tokens(pages)),
      geometry_(geometry),
      keep_pages_(keep_pages),
      pages_(pages),
      free_(pages),
      largest_free_(capacity()) {}

std::string Virtual::why_never(const SequenceNeed& need) const {
  const std::int64_t pages = geometry_.pages_for(need.true_end);
  if (pages <= pages_) return "";
  return fmt::format("needs {} pages, a GPU has {}", pages, pages_);
}

std::int64_t Virtual::demand(SequenceId id, Tokens total) const {
  const Tokens used = row_of(id).used;
  return total <= used ? 0 : geometry_.pages_for(total) - geometry_.pages_for(used);
}

std::int64_t Virtual::decode_demand() const {
  std::int64_t sum = 0;
  due_.for_each_due(cohort(), decode_steps(),
                    [&](const DueQueue::Entry& entry) { sum += demand(entry.id, row_of(entry.id).used + Tokens(1)); });
  return sum;
}

// A row is in spare_ while it has pages that nobody uses, and in kept_ while it has pages and no sequence.
void Virtual::list(RowId row) {
  const Row& r = rows_[row];
  if (r.mapped > r.used) spare_.emplace(r.ended, row);
  if (r.mapped > Tokens(0) && !r.taken) kept_.emplace(r.mapped, r.ended, row);
  if (r.mapped == Tokens(0) && !r.taken) empty_rows_.push_back(row);
}

void Virtual::unlist(RowId row) {
  spare_.erase({rows_[row].ended, row});
  kept_.erase({rows_[row].mapped, rows_[row].ended, row});
}

Virtual::RowId Virtual::row_for(Tokens prompt) {
  if (!kept_.empty()) {
    const auto enough = kept_.lower_bound({geometry_.filled(prompt), 0, 0});
    return std::get<RowId>(enough == kept_.end() ? *std::prev(kept_.end()) : *enough);
  }
  if (empty_rows_.empty()) {
    rows_.emplace_back();
    return static_cast<RowId>(rows_.size() - 1);
  }
  const RowId row = empty_rows_.back();
  empty_rows_.pop_back();
  return row;
}

// Unmaps pages that nobody uses until `pages` are free.
void Virtual::unmap_for(std::int64_t pages) {
  while (free_ < pages) {
    CHECK_LAW(!spare_.empty(), "{} pages are wanted, {} are free and none is to spare", pages, free_);
    const RowId id = spare_.begin()->second;
    unlist(id);
    Row& row = rows_[id];
    const std::int64_t before = geometry_.pages_for(row.mapped);
    std::int64_t after = before;
    while (row.mapped > row.used && free_ + before - after < pages) {
      row.mapped = std::max(row.used, geometry_.one_step_less(row.mapped));
      after = geometry_.pages_for(row.mapped);
    }
    free_ += before - after;
    work().pages_unmapped += before - after;
    list(id);
  }
}

// The sequence of the row uses pages for `tokens` tokens. There are enough.
void Virtual::use(RowId id, Tokens tokens) {
  unlist(id);
  const Tokens before = rows_[id].used;
  const Tokens after = geometry_.filled(tokens);
  rows_[id].used = after;
  used_ += geometry_.pages_for(after) - geometry_.pages_for(before);
  sum_used_ += after - before;
  if (after > rows_[id].mapped) {
    const std::int64_t lacking = geometry_.pages_for(after) - geometry_.pages_for(rows_[id].mapped);
    unmap_for(lacking);
    free_ -= lacking;
    work().pages_mapped += lacking;
    rows_[id].mapped = after;
  }
  list(id);
  largest_free_ = geometry_.most_tokens(available());
}

Grant Virtual::do_admit(SequenceId id, const SequenceNeed& need, Tokens first) {
  if (geometry_.pages_for(first) > available()) return Grant::no_space;
  if (index_of(id) >= held_.size()) held_.resize(index_of(id) + 1);
  const RowId row = row_for(std::max(first, need.prompt));
  unlist(row);
  rows_[row].taken = true;
  rows_[row].ended = events_++;
  held_[index_of(id)] = {row, admissions_++, -1};
  list(row);
  use(row, first);
  return Grant::granted;
}

Grant Virtual::do_grow(SequenceId id, Tokens /*from*/, Tokens to) {
  const std::int64_t pages = demand(id, to);
  if (pages == 0) return Grant::granted;
  if (pages > available()) return Grant::no_space;
  use(held_[index_of(id)].row, to);
  return Grant::granted;
}

void Virtual::do_release(SequenceId id, Tokens /*written*/) {
  const RowId row = held_[index_of(id)].row;
  use(row, Tokens(0));
  unlist(row);
  Row& r = rows_[row];
  r.taken = false;
  r.ended = events_++;
  if (!keep_pages_) {
    const std::int64_t pages = geometry_.pages_for(r.mapped);
    free_ += pages;
    work().pages_unmapped += pages;
    r.mapped = Tokens(0);
  }
  list(row);
}

void Virtual::do_start_decoding(SequenceId id, Tokens written) {
  Held& held = held_[index_of(id)];
  held.due = decode_steps() + (rows_[held.row].used - written).count();
  due_.add(cohort(), {held.due, held.order, id});
}

void Virtual::do_stop_decoding(SequenceId id, Tokens /*written*/) {
  Held& held = held_[index_of(id)];
  due_.remove(cohort(), {held.due, held.order, id});
  held.due = -1;
}

Grant Virtual::do_grow_decoding(std::span<const Growth> others) {
  std::int64_t pages = 0;
  growing_.clear();
  const auto grows = [&](SequenceId id, Tokens total) {
    const std::int64_t more = demand(id, total);
    if (more > 0) growing_.push_back({held_[index_of(id)].order, {id, total}});
    pages += more;
  };
  due_.for_each_due(cohort(), decode_steps(),
                    [&](const DueQueue::Entry& entry) { grows(entry.id, row_of(entry.id).used + Tokens(1)); });
  for (const Growth& growth : others) grows(growth.id, growth.total);
  if (pages > available()) return Grant::no_space;
  std::ranges::sort(growing_, {}, [](const auto& growth) { return growth.first; });
  for (const auto& [order, growth] : growing_) {
    Held& held = held_[index_of(growth.id)];
    const Tokens before = rows_[held.row].used;
    use(held.row, growth.total);
    if (held.due < 0) continue;  // one of `others`
    due_.remove(cohort(), {held.due, held.order, growth.id});
    held.due += (rows_[held.row].used - before).count();
    due_.add(cohort(), {held.due, held.order, growth.id});
  }
  return Grant::granted;
}

MemoryPartition Virtual::partition() const {
  const std::int64_t token = geometry_.pieces_per_token();
  const std::int64_t page = geometry_.pieces_per_page();
  CHECK_LAW(used_ + free_ <= pages_, "used {} + free {} of {} pages", used_, free_, pages_);
  MemoryPartition p;
  p[MemoryState::live] = total_written().count() * token;
  p[MemoryState::tail] = (sum_used_ - total_written()).count() * token;
  p[MemoryState::padding] = used_ * page - sum_used_.count() * token;
  p[MemoryState::cached] = (pages_ - used_ - free_) * page;
  p[MemoryState::free] = free_ * page;
  return p;
}

}  // namespace blockyard::kv
