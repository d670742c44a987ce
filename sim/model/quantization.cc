#include "sim/model/quantization.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

namespace blockyard::model {
namespace {

// A pattern without what regular expressions add to a module's name.
std::string plain(std::string_view pattern) {
  if (pattern.starts_with("re:")) pattern.remove_prefix(3);
  std::string text;
  for (const char c : pattern) {
    if (c != '\\' && c != '*' && c != '^' && c != '$') text += c;
  }
  return text;
}

// The number behind "layers.", -1 if there is none.
long layer_of(const std::string& text) {
  const std::size_t at = text.find("layers.");
  if (at == std::string::npos) return -1;
  const std::size_t digits = at + 7;
  if (digits >= text.size() || std::isdigit(static_cast<unsigned char>(text[digits])) == 0) return -1;
  long number = 0;
  for (std::size_t i = digits;
       i < text.size() && i < digits + 6 && std::isdigit(static_cast<unsigned char>(text[i])) != 0; ++i) {
    number = 10 * number + (text[i] - '0');
  }
  return number;
}

}  // namespace

double kept_share(const Quantization& q, const std::string& module, long layers) {
  std::set<long> kept;
  for (const std::string& pattern : q.kept) {
    const std::string text = plain(pattern);
    if (text.find(module) == std::string::npos) continue;
    const long layer = layer_of(text);
    if (layer < 0) return 1;
    if (layer < layers) kept.insert(layer);
  }
  return layers > 0 ? static_cast<double>(kept.size()) / static_cast<double>(layers) : 0;
}

}  // namespace blockyard::model
