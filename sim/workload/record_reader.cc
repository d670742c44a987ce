#include "sim/workload/record_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/workload/json_nesting.h"

namespace blockyard::workload {
namespace {

constexpr std::size_t kHead = std::size_t{1} << 16;

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

// An object that is whole on its line means JSON lines, and so does anything that is no object or array at all. A first
// line longer than what was looked at is a document. A first line that is cut off shows by a second one that begins an
// object where the first has no room for one.
bool is_lines(std::string_view head) {
  if (head.empty() || (head[0] != '{' && head[0] != '[')) return true;
  if (head[0] == '[') return false;
  const std::size_t newline = head.find('\n');
  if (newline == std::string_view::npos) return head.size() < kHead;
  std::string_view line = head.substr(0, newline);
  if (JsonNesting().end_in(line) != std::string_view::npos) return true;
  while (!line.empty() && is_space(line.back())) line.remove_suffix(1);
  return head.substr(newline + 1).starts_with("{\"") && !line.ends_with('[') && !line.ends_with(',') &&
         !line.ends_with(':');
}

}  // namespace

RecordReader::RecordReader(LineReader lines, std::size_t longest) : lines_(std::move(lines)), longest_(longest) {
  const std::string_view head = lines_.peek_bytes(kHead);
  by_line_ = is_lines(head);
}

bool RecordReader::next(std::string_view& record) {
  if (!by_line_) return next_value(record);
  do {
    if (!lines_.next(record)) return false;
  } while (record.find_first_not_of(" \t\r") == std::string_view::npos);
  return true;
}

Place RecordReader::place(std::size_t offset) const {
  if (by_line_) return lines_.place(static_cast<int>(offset) + 1);
  const std::string_view before = std::string_view(value_).substr(0, offset);
  const std::size_t newline = before.rfind('\n');
  const std::size_t column = newline == std::string_view::npos ? offset : offset - newline - 1;
  return {lines_.file(), record_line_ + static_cast<int>(std::count(before.begin(), before.end(), '\n')),
          static_cast<int>(column) + 1};
}

void RecordReader::fail(const std::string& message) const { throw InputError({lines_.file(), line_}, message); }

bool RecordReader::fetch() {
  if (bytes_.empty()) bytes_ = lines_.next_bytes();
  return !bytes_.empty();
}

bool RecordReader::next_value(std::string_view& record) {
  const auto skip = [&] {
    if (bytes_.front() == '\n') ++line_;
    bytes_.remove_prefix(1);
  };
  const auto skip_space = [&] {
    while (fetch() && is_space(bytes_.front())) skip();
    return !bytes_.empty();
  };
  if (!skip_space()) {
    if (in_array_) fail("the file ends inside its JSON array");
    return false;
  }
  if (after_array_) fail("text behind the JSON array");
  if (!in_array_ && first_ && bytes_.front() == '[') {
    in_array_ = true;
    skip();
    if (!skip_space()) fail("the file ends inside its JSON array");
  } else if (in_array_ && bytes_.front() == ',' && !first_) {
    skip();
    if (!skip_space()) fail("the file ends inside its JSON array");
  } else if (in_array_ && !first_ && bytes_.front() != ']') {
    fail("expected a comma between the elements of the JSON array");
  }
  if (in_array_ && bytes_.front() == ']') {
    skip();
    in_array_ = false;
    after_array_ = true;
    return next_value(record);
  }
  first_ = false;
  if (bytes_.front() != '{' && bytes_.front() != '[') fail("expected a JSON object");
  record_line_ = line_;
  value_.clear();
  JsonNesting nesting;
  for (;;) {
    if (!fetch()) fail(fmt::format("the file ends inside the JSON object that begins in line {}", record_line_));
    const std::size_t end = std::min(nesting.end_in(bytes_), bytes_.size());
    const bool done = end < bytes_.size() || nesting.closed();
    if (value_.size() + end > longest_) fail(fmt::format("the JSON object is longer than {} bytes", longest_));
    value_.append(bytes_.substr(0, end));
    line_ += static_cast<int>(std::count(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
    bytes_.remove_prefix(end);
    if (done) break;
  }
  value_.reserve(value_.size() + LineReader::kPadding);
  record = value_;
  return true;
}

}  // namespace blockyard::workload
