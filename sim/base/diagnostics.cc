#include "sim/base/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

namespace blockyard {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// Damerau-Levenshtein distance (optimal string alignment). O(|a| |b|).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string join_lines(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!text.empty()) text += '\n';
    text += to_string(diagnostic);
  }
  return text;
}

}  // namespace

std::string to_string(const Place& place) {
  if (place.line == 0) return place.file;
  if (place.column == 0) return fmt::format("{}:{}", place.file, place.line);
  return fmt::format("{}:{}:{}", place.file, place.line, place.column);
}

std::string to_string(const Diagnostic& diagnostic) {
  const std::string place = to_string(diagnostic.place);
  return place.empty() ? diagnostic.message : fmt::format("{}: {}", place, diagnostic.message);
}

InputError::InputError(std::vector<Diagnostic> diagnostics)
    : diagnostics_(std::move(diagnostics)), text_(join_lines(diagnostics_)) {}

InputError::InputError(Place place, std::string message)
    : InputError(std::vector<Diagnostic>{{std::move(place), std::move(message)}}) {}

bool InputError::only_does_not_fit() const { return std::ranges::all_of(diagnostics_, &Diagnostic::does_not_fit); }

std::string nearest_name(std::string_view word, std::span<const std::string> candidates) {
  constexpr std::size_t kBeginning = 3;
  const std::string wanted = lower(word);
  const std::size_t limit = std::max<std::size_t>(1, wanted.size() / 3);
  std::size_t best = limit + 1;
  std::string name;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best) {
      best = distance;
      name = candidate;
    }
  }
  if (!name.empty() || wanted.size() < kBeginning) return name;
  for (const std::string& candidate : candidates) {
    if (lower(candidate).starts_with(wanted) && (name.empty() || candidate.size() < name.size())) name = candidate;
  }
  return name;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> candidates) {
  const std::string name = nearest_name(word, candidates);
  return name.empty() ? std::string() : fmt::format("; did you mean \"{}\"?", name);
}

}  // namespace blockyard
