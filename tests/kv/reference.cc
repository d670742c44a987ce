#include "tests/kv/reference.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "tests/kv/naive_arena.h"
#include "tests/kv/naive_hybrid.h"

namespace blockyard::kv_tests {

using kv::MemoryOptions;
using kv::Region;
using kv::SequenceNeed;

bool NaiveMemory::admit(std::uint32_t n, const SequenceNeed& need, Tokens first) {
  external_ = false;
  if (!take(n, need, first)) return false;
  held_[n] = {need, first, false, CohortId{}, admissions_++};
  return true;
}

bool NaiveMemory::grow(std::uint32_t n, Tokens total) {
  if (!extend(n, total, true)) return false;
  held_[n].written = total;
  return true;
}

void NaiveMemory::release(std::uint32_t n) {
  external_ = false;
  give(n);
}

bool NaiveMemory::grow_decoding(CohortId cohort, const std::map<std::uint32_t, Tokens>& others) {
  std::vector<std::pair<std::uint32_t, Tokens>> all(others.begin(), others.end());
  for (const auto& [n, s] : held_) {
    if (s.decoding && s.cohort == cohort) all.emplace_back(n, s.written + Tokens(1));
  }
  std::ranges::sort(all, {}, [&](const auto& growth) { return held_[growth.first].order; });
  const std::unique_ptr<NaiveMemory> before = clone();
  for (const auto& [n, total] : all) {
    if (extend(n, total, false)) continue;
    become(*before);
    return false;
  }
  for (const auto& [n, total] : all) held_[n].written = total;
  return true;
}

std::int64_t NaiveMemory::written() const {
  std::int64_t sum = 0;
  for (const auto& [n, s] : held_) sum += s.written.count();
  return sum;
}

namespace {

class NaiveNone final : public Copyable<NaiveNone> {
 public:
  explicit NaiveNone(const MemoryOptions& o) : capacity_(o.capacity.count()) {}
  [[nodiscard]] MemoryPartition partition() const override {
    MemoryPartition p;
    p[MemoryState::free] = capacity_;
    return p;
  }
  [[nodiscard]] std::int64_t largest_free() const override { return capacity_; }

 private:
  bool take(std::uint32_t, const SequenceNeed&, Tokens) override { return true; }
  bool extend(std::uint32_t, Tokens, bool) override { return true; }
  void give(std::uint32_t n) override { held_.erase(n); }
  std::int64_t capacity_;
};

// A list of free blocks, and one of each sequence's.
class NaivePaged final : public Copyable<NaivePaged> {
 public:
  explicit NaivePaged(const MemoryOptions& o) : block_(o.block_size.count()) {
    for (std::int64_t i = 0; i < o.capacity.count() / block_; ++i) free_.push_back(i);
  }
  [[nodiscard]] MemoryPartition partition() const override {
    MemoryPartition p;
    p[MemoryState::live] = written();
    for (const auto& [n, table] : tables_) p[MemoryState::tail] += static_cast<std::int64_t>(table.size()) * block_;
    p[MemoryState::tail] -= written();
    p[MemoryState::free] = largest_free();
    return p;
  }
  [[nodiscard]] std::int64_t largest_free() const override { return static_cast<std::int64_t>(free_.size()) * block_; }

 private:
  bool take(std::uint32_t n, const SequenceNeed&, Tokens first) override {
    tables_[n] = {};
    if (extend(n, first, true)) return true;
    tables_.erase(n);
    return false;
  }
  bool extend(std::uint32_t n, Tokens total, bool) override {
    std::vector<std::int64_t>& table = tables_[n];
    std::vector<std::int64_t> more;
    std::vector<std::int64_t> free = free_;
    while (static_cast<std::int64_t>(table.size() + more.size()) * block_ < total.count()) {
      if (free.empty()) return false;
      more.push_back(free.back());
      free.pop_back();
    }
    table.insert(table.end(), more.begin(), more.end());
    free_ = free;
    return true;
  }
  void give(std::uint32_t n) override {
    free_.insert(free_.end(), tables_[n].begin(), tables_[n].end());
    tables_.erase(n);
    held_.erase(n);
  }

  std::int64_t block_;
  std::vector<std::int64_t> free_;
  std::map<std::uint32_t, std::vector<std::int64_t>> tables_;
};

class NaiveContiguous final : public Copyable<NaiveContiguous> {
 public:
  explicit NaiveContiguous(const MemoryOptions& o)
      : options_(o), rule_(o.reservation), arena_(o.capacity, std::string(o.placement)) {
    NaiveArena empty = arena_;
    most_ = std::min(empty.largest_free(), o.max_model_len.count() - 1);
  }

  [[nodiscard]] MemoryPartition partition() const override {
    MemoryPartition p;
    p[MemoryState::live] = written();
    for (const auto& [n, r] : regions_) {
      const Sequence& s = held_.at(n);
      const std::int64_t useful = std::min(r.reservation, s.need.true_end.count());
      p[MemoryState::reserved] += useful - s.written.count();
      p[MemoryState::over_reserved] += r.reservation - useful;
      p[MemoryState::padding] += r.region.size.count() - r.reservation;
    }
    p[external_ ? MemoryState::external : MemoryState::free] = arena_.free();
    return p;
  }
  [[nodiscard]] std::int64_t largest_free() const override { return arena_.largest_free(); }
  void forget(std::uint32_t n) override { highest_.erase(n); }

 private:
  struct Reserved {
    Region region;
    std::int64_t reservation = 0;
  };

  [[nodiscard]] std::int64_t doubled(std::int64_t from, std::int64_t least) const {
    std::int64_t r = std::min(from, most_);
    while (r < least && r < most_) r = std::min(2 * r, most_);
    return r;
  }
  [[nodiscard]] std::int64_t reservation(std::uint32_t n, const SequenceNeed& need, Tokens first) const {
    const std::int64_t end = need.true_end.count();
    const std::int64_t limit = options_.max_model_len.count();
    const auto cut = [&](std::int64_t r) { return std::max(end, std::min(r, limit - 1)); };
    if (rule_ == "max_model_len") return limit;
    if (rule_ == "max_tokens") return cut(need.declared_end.count());
    if (rule_ == "oracle") return end;
    if (rule_ == "pow2") {
      std::int64_t output = 1;
      while (output < end - need.prompt.count() + 1) output *= 2;
      return cut(need.prompt.count() + output - 1);
    }
    const auto before = highest_.find(n);
    const std::int64_t least = before == highest_.end() ? 0 : before->second + 1;
    return doubled(need.prompt.count() + options_.initial_tokens.count(), std::max(first.count(), least));
  }

  bool take(std::uint32_t n, const SequenceNeed& need, Tokens first) override {
    const std::int64_t wanted = reservation(n, need, first);
    if (wanted < first.count()) return false;
    std::optional<Region> region = arena_.place(wanted);
    if (!region && options_.compaction.on_failure && pack(wanted)) region = arena_.place(wanted);
    if (!region) {
      const std::int64_t slots = arena_.rounded(wanted);
      external_ = arena_.free() >= slots && slots > arena_.largest_free();
      return false;
    }
    regions_[n] = {*region, wanted};
    pack_if_torn();
    return true;
  }
  bool extend(std::uint32_t n, Tokens total, bool alone) override {
    const std::int64_t now = regions_[n].reservation;
    if (total.count() <= now) return true;
    const std::int64_t wanted = doubled(now, total.count());
    if (wanted < total.count()) return false;
    std::optional<Region> region = arena_.place(wanted);
    if (!region && alone && options_.compaction.on_failure && pack(wanted)) region = arena_.place(wanted);
    if (!region) return false;
    arena_.give(regions_[n].region);
    regions_[n] = {*region, wanted};
    work_.copied += held_[n].written;
    return true;
  }
  void give(std::uint32_t n) override {
    arena_.give(regions_[n].region);
    std::int64_t& highest = highest_[n];
    highest = std::max(highest, held_[n].written.count());
    regions_.erase(n);
    held_.erase(n);
    pack_if_torn();
  }
  void pack_if_torn() {
    const double free = static_cast<double>(arena_.free());
    if (free > 0 && 1 - static_cast<double>(arena_.largest_free()) / free > options_.compaction.threshold) pack(0);
  }
  bool pack(std::int64_t wanted) {
    std::vector<std::pair<Region, std::uint32_t>> order;
    for (const auto& [n, r] : regions_) order.emplace_back(r.region, n);
    std::ranges::sort(order, {}, [](const auto& o) { return o.first.start; });
    std::vector<Region> packed;
    for (const auto& [region, n] : order) packed.push_back(region);
    NaiveArena after = arena_;
    after.pack(packed);
    if (after.largest_free() <= arena_.largest_free()) return false;
    if (wanted > 0 && after.largest_free() < arena_.rounded(wanted)) return false;
    arena_ = after;
    for (std::size_t i = 0; i < packed.size(); ++i) {
      const std::uint32_t n = order[i].second;
      if (regions_[n].region == packed[i]) continue;
      regions_[n].region = packed[i];
      if (held_.contains(n)) work_.copied += held_[n].written;
    }
    ++work_.compactions;
    return true;
  }

  MemoryOptions options_;
  std::string rule_;
  NaiveArena arena_;
  std::int64_t most_ = 0;  // no doubling goes beyond
  std::map<std::uint32_t, Reserved> regions_;
  std::map<std::uint32_t, std::int64_t> highest_;
};

class NaiveVirtual final : public Copyable<NaiveVirtual> {
 public:
  NaiveVirtual(const MemoryOptions& o, std::vector<kv::PageGeometry::Tensors> tensors, Bytes page)
      : pages_(o.pages), keep_(o.keep_pages), tensors_(std::move(tensors)), page_(page.count()) {}

  [[nodiscard]] MemoryPartition partition() const override {
    std::int64_t piece = page_;
    std::int64_t token = 0;
    for (const auto& t : tensors_) {
      piece = std::gcd(piece, t.token_bytes);
      token += t.count * t.token_bytes;
    }
    MemoryPartition p;
    for (const auto& [n, row] : rows_of_) {
      const std::int64_t written = held_.at(n).written.count();
      const std::int64_t used = pages_for(written);
      std::int64_t whole = written;
      while (pages_for(whole + 1) == used) ++whole;
      p[MemoryState::live] += written * token;
      p[MemoryState::tail] += (whole - written) * token;
      p[MemoryState::padding] += used * page_ - whole * token;
      p[MemoryState::cached] -= used * page_;
    }
    for (const Row& row : rows_) p[MemoryState::cached] += pages_for(row.mapped) * page_;
    p[MemoryState::free] = free() * page_;
    for (std::int64_t& bytes : p.slots) bytes /= piece;
    return p;
  }
  [[nodiscard]] std::int64_t largest_free() const override {
    std::int64_t left = pages_;
    for (const auto& [n, row] : rows_of_) left -= pages_for(held_.at(n).written.count());
    std::int64_t tokens = 0;
    while (pages_for(tokens + 1) <= left) ++tokens;
    return tokens;
  }

 private:
  struct Row {
    std::int64_t mapped = 0;  // tokens
    std::uint64_t stamp = 0;
    bool taken = false;
  };

  [[nodiscard]] std::int64_t pages_for(std::int64_t tokens) const {
    std::int64_t pages = 0;
    for (const auto& t : tensors_) pages += t.count * ((tokens * t.token_bytes + page_ - 1) / page_);
    return pages;
  }
  [[nodiscard]] std::int64_t free() const {
    std::int64_t pages = pages_;
    for (const Row& row : rows_) pages -= pages_for(row.mapped);
    return pages;
  }
  // Maps until the row has pages for `tokens`, while `using_now` says what each row's sequence needs.
  void map(std::size_t to, std::int64_t tokens, const std::vector<std::int64_t>& using_now) {
    while (rows_[to].mapped < tokens || pages_for(rows_[to].mapped + 1) == pages_for(rows_[to].mapped)) {
      const std::int64_t more = pages_for(rows_[to].mapped + 1) - pages_for(rows_[to].mapped);
      if (rows_[to].mapped < tokens && free() < pages_for(tokens) - pages_for(rows_[to].mapped)) {
        unmap(to, using_now);
        continue;
      }
      ++rows_[to].mapped;
      work_.pages_mapped += more;
    }
  }
  // One step less in the row that ended longest ago among those with pages to spare.
  void unmap(std::size_t not_this, const std::vector<std::int64_t>& using_now) {
    std::size_t oldest = rows_.size();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (i == not_this || pages_for(rows_[i].mapped) == pages_for(using_now[i])) continue;
      if (oldest == rows_.size() || rows_[i].stamp < rows_[oldest].stamp) oldest = i;
    }
    Row& row = rows_.at(oldest);
    const std::int64_t before = pages_for(row.mapped);
    while (pages_for(row.mapped) == before) --row.mapped;
    work_.pages_unmapped += before - pages_for(row.mapped);
  }
  [[nodiscard]] std::vector<std::int64_t> using_now() const {
    std::vector<std::int64_t> tokens(rows_.size());
    for (const auto& [n, row] : rows_of_) tokens[row] = held_.contains(n) ? in_use_.at(n) : 0;
    return tokens;
  }

  bool take(std::uint32_t n, const SequenceNeed& need, Tokens first) override {
    std::int64_t left = pages_;
    for (const auto& [other, tokens] : in_use_) left -= pages_for(tokens);
    if (pages_for(first.count()) > left) return false;
    const std::int64_t wanted = std::max(first, need.prompt).count();
    std::size_t chosen = rows_.size();
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].taken || rows_[i].mapped == 0) continue;
      if (chosen == rows_.size()) {
        chosen = i;
        continue;
      }
      const bool holds = rows_[i].mapped >= wanted;
      const bool chosen_holds = rows_[chosen].mapped >= wanted;
      const bool better =
          holds && chosen_holds ? rows_[i].mapped < rows_[chosen].mapped : rows_[i].mapped > rows_[chosen].mapped;
      // Of equal rows that hold it the one that ended first, of equal ones that do not the one that ended last.
      const bool equal = rows_[i].mapped == rows_[chosen].mapped;
      if (better || (equal && holds == (rows_[i].stamp < rows_[chosen].stamp))) chosen = i;
    }
    if (chosen == rows_.size()) {
      // Which empty row decides nothing.
      const auto empty = std::ranges::find_if(rows_, [](const Row& row) { return !row.taken && row.mapped == 0; });
      chosen = static_cast<std::size_t>(empty - rows_.begin());
      if (empty == rows_.end()) rows_.emplace_back();
    }
    rows_[chosen].taken = true;
    rows_[chosen].stamp = events_++;
    rows_of_[n] = chosen;
    in_use_[n] = 0;
    map(chosen, first.count(), using_now());
    in_use_[n] = first.count();
    return true;
  }
  bool extend(std::uint32_t n, Tokens total, bool) override {
    std::int64_t left = pages_;
    for (const auto& [other, tokens] : in_use_) left -= pages_for(tokens);
    if (pages_for(total.count()) - pages_for(in_use_[n]) > left) return false;
    map(rows_of_[n], total.count(), using_now());
    in_use_[n] = total.count();
    return true;
  }
  void give(std::uint32_t n) override {
    Row& row = rows_[rows_of_[n]];
    row.taken = false;
    row.stamp = events_++;
    if (!keep_) {
      work_.pages_unmapped += pages_for(row.mapped);
      row.mapped = 0;
    }
    rows_of_.erase(n);
    in_use_.erase(n);
    held_.erase(n);
  }

  std::int64_t pages_;
  bool keep_;
  std::vector<kv::PageGeometry::Tensors> tensors_;
  std::int64_t page_;
  std::vector<Row> rows_;
  std::map<std::uint32_t, std::size_t> rows_of_;
  std::map<std::uint32_t, std::int64_t> in_use_;  // tokens
  std::uint64_t events_ = 0;
};

}  // namespace

std::unique_ptr<NaiveMemory> make_reference(std::string_view strategy, const MemoryOptions& options,
                                            const std::vector<kv::PageGeometry::Tensors>& tensors, Bytes page) {
  if (strategy == "paged" && !options.tables.empty()) return std::make_unique<NaiveHybrid>(options);
  if (strategy == "paged") return std::make_unique<NaivePaged>(options);
  if (strategy == "contiguous") return std::make_unique<NaiveContiguous>(options);
  if (strategy == "virtual") return std::make_unique<NaiveVirtual>(options, tensors, page);
  if (strategy == "none") return std::make_unique<NaiveNone>(options);
  return nullptr;
}

}  // namespace blockyard::kv_tests
