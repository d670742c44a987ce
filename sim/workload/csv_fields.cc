#include "sim/workload/csv_fields.h"

#include <cstddef>
#include <cstring>

namespace blockyard::workload {
namespace {

constexpr std::size_t kLongestHeader = std::size_t{1} << 16;

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name) {
    if (!is_space(c)) plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  return plain;
}

}  // namespace

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

const char* take_field(const char*& at, const char* end, std::string_view& field) {
  const char* start = at;
  while (start != end && is_space(*start)) ++start;
  if (start != end && *start == '"') {
    const char* close = start + 1;
    while (close != end && (*close != '"' || (close + 1 != end && close[1] == '"'))) close += *close == '"' ? 2 : 1;
    if (close == end) return "a quoted field without its closing quote on the same line";
    field = trimmed({start + 1, static_cast<std::size_t>(close - start - 1)});
    at = close + 1;
    while (at != end && is_space(*at)) ++at;
    return at == end || *at == ',' ? nullptr : "text behind a closing quote";
  }
  const void* const comma = end == at ? nullptr : std::memchr(at, ',', static_cast<std::size_t>(end - at));
  const char* const stop = comma == nullptr ? end : static_cast<const char*>(comma);
  field = trimmed({at, static_cast<std::size_t>(stop - at)});
  at = stop;
  return nullptr;
}

std::vector<std::string> split_header(std::string_view line) {
  std::vector<std::string> names;
  if (line.size() > kLongestHeader) return names;
  const char* at = line.data();
  const char* const end = at + line.size();
  for (;;) {
    std::string_view name;
    if (take_field(at, end, name) != nullptr) return {};
    names.emplace_back(name);
    if (at == end) return names;
    ++at;
  }
}

bool same_name(std::string_view a, std::string_view b) { return plain_name(a) == plain_name(b); }

}  // namespace blockyard::workload
