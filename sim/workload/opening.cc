#include "sim/workload/opening.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/workload/csv_fields.h"
#include "sim/workload/json_nesting.h"

namespace blockyard::workload {
namespace {

constexpr std::size_t kHead = std::size_t{1} << 16;
constexpr std::size_t kMostKeys = 1000;
constexpr std::size_t kLongestColumns = std::size_t{1} << 16;

bool closes(std::string_view head) { return JsonNesting().end_in(head) != std::string_view::npos; }

}  // namespace

std::vector<std::string> keys_of_first_record(std::string_view head) {
  std::vector<std::string> keys;
  std::vector<char> open;  // { and [ around the place reached
  std::string outer;       // the key whose object is open at depth 2
  std::string last;        // the string last read
  const auto objects = [&] { return std::count(open.begin(), open.end(), '{'); };
  const std::size_t arrays_around = head.starts_with('[') ? 1U : 0U;
  for (std::size_t i = 0; i < head.size() && keys.size() < kMostKeys; ++i) {
    const char c = head[i];
    if (c == '"') {
      const std::size_t start = ++i;
      while (i < head.size() && head[i] != '"') i += head[i] == '\\' ? 2U : 1U;
      if (i >= head.size()) break;
      last = head.substr(start, i - start);
    } else if (c == ':' && !open.empty() && open.back() == '{') {
      const std::size_t depth = open.size() - arrays_around;
      if (depth == 1) keys.push_back(outer = last);
      if (depth == 2 && objects() == 2) keys.push_back(fmt::format("{}.{}", outer, last));
    } else if (c == '{' || c == '[') {
      open.push_back(c);
    } else if (c == '}' || c == ']') {
      if (open.empty()) break;
      open.pop_back();
      if (open.size() == arrays_around) break;
    }
  }
  return keys;
}

Opening::Opening(LineReader& lines) {
  line_ = lines.peek();
  const std::string_view head = lines.peek_bytes(kHead);
  json_ = !head.empty() && (head[0] == '{' || head[0] == '[');
  array_ = json_ && head[0] == '[';
  if (json_) {
    keys_ = keys_of_first_record(head);
    if (head.size() < kHead && !closes(head)) damage_ = "the file ends inside its first JSON record";
    return;
  }
  head_ = head;
  if (line_.size() < kLongestColumns) columns_ = split_header(line_);
  if (head_.find("\n{\"") != std::string::npos && line_.ends_with('}')) {
    damage_ = "the front of the first line is missing: the lines below it are JSON";
  }
}

bool Opening::has_line(std::initializer_list<std::string_view> beginnings) const {
  for (std::size_t at = 0; at < head_.size();) {
    const std::string_view rest = std::string_view(head_).substr(at);
    if (std::any_of(beginnings.begin(), beginnings.end(), [&](std::string_view b) { return rest.starts_with(b); })) {
      return true;
    }
    const std::size_t newline = head_.find('\n', at);
    at = newline == std::string::npos ? head_.size() : newline + 1;
  }
  return false;
}

bool Opening::has_columns(std::initializer_list<std::string_view> names) const {
  return std::all_of(names.begin(), names.end(), [&](std::string_view name) {
    return std::any_of(columns_.begin(), columns_.end(),
                       [&](const std::string& column) { return same_name(column, name); });
  });
}

bool Opening::has_key(std::string_view key) const { return std::find(keys_.begin(), keys_.end(), key) != keys_.end(); }

bool Opening::has_keys(std::initializer_list<std::string_view> keys) const {
  return std::all_of(keys.begin(), keys.end(), [&](std::string_view key) { return has_key(key); });
}

}  // namespace blockyard::workload
