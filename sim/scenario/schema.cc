#include "sim/scenario/schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "sim/base/check.h"
#include "sim/base/diagnostics.h"

namespace blockyard::scenario {
namespace {

// Enumerations of more names than this are not listed in a message.
constexpr std::size_t kMostListed = 16;

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += i + 1 == parts.size() ? " or " : ", ";
    text += parts[i];
  }
  return text;
}

std::vector<std::string> names_of(const NameDocs& words) {
  std::vector<std::string> names;
  names.reserve(words.size());
  for (const NameDoc& word : words) names.push_back(word.name);
  return names;
}

bool is_path(Kind kind) { return kind == Kind::file || kind == Kind::path; }

bool accepts(const Key& key, Kind kind) {
  return std::any_of(key.accepts.begin(), key.accepts.end(), [&](const Accept& a) { return a.kind == kind; });
}

bool looks_like_path(std::string_view text) {
  const std::string extension = std::filesystem::path(text).extension().string();
  constexpr std::array<std::string_view, 7> kOfFiles{".yaml", ".yml", ".json", ".jsonl", ".csv", ".gz", ".zst"};
  return text.find('/') != std::string_view::npos || std::ranges::find(kOfFiles, extension) != kOfFiles.end();
}

Reading problem(std::string text) { return {std::nullopt, std::move(text)}; }

Reading read_path(Kind kind, std::string_view text, const std::string& folder) {
  const std::filesystem::path path = (std::filesystem::path(folder) / text).lexically_normal();
  std::error_code error;
  if (kind == Kind::file && std::filesystem::is_directory(path, error)) {
    return problem(fmt::format("expected a file, found the folder {}", in_quotes(path.string())));
  }
  if (!std::filesystem::exists(path, error))
    return problem(
        fmt::format("no such {}: {}", kind == Kind::file ? "file" : "file or folder", in_quotes(path.string())));
  return {Value{.kind = kind, .text = path.string()}, {}};
}

// 1e6 B/s -> "1 MB/s": in the largest unit that leaves a whole number.
std::string amount_text(double amount, Kind kind) {
  const std::string_view base = base_unit_of(kind);
  if (kind == Kind::bandwidth || kind == Kind::flops) {
    for (const auto& [prefix, size] : {std::pair("T", 1e12), std::pair("G", 1e9), std::pair("M", 1e6)}) {
      if (amount >= size && std::fmod(amount, size) == 0) return fmt::format("{} {}{}", amount / size, prefix, base);
    }
  }
  return base.empty() ? fmt::format("{}", amount) : fmt::format("{} {}", amount, base);
}

std::string limits_text(const Accept& accept) {
  const Limits& limits = accept.limits;
  const std::string_view base = base_unit_of(accept.kind);
  const bool low = limits.low > -std::numeric_limits<double>::infinity();
  const bool high = limits.high < std::numeric_limits<double>::infinity();
  if (low && high && !limits.low_excluded) {
    return fmt::format("{} to {}{}{}", limits.low, limits.high, base.empty() ? "" : " ", base);
  }
  std::string text;
  if (low) {
    text = fmt::format("{} {}", limits.low_excluded ? "more than" : "at least", amount_text(limits.low, accept.kind));
  }
  if (low && high) text += " and ";
  if (high) text += "at most " + amount_text(limits.high, accept.kind);
  return text;
}

Reading within_limits(Reading reading, const Accept& accept, std::string_view text) {
  if (!reading.value) return reading;
  const double number = in_base_unit(*reading.value);
  const Limits& limits = accept.limits;
  if (number > limits.high || number < limits.low || (limits.low_excluded && number <= limits.low)) {
    return problem(fmt::format("expected {}, found {}", limits_text(accept), in_quotes(text)));
  }
  return reading;
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; });
}

Reading read_accepted(const Accept& accept, std::string_view text, const std::string& folder) {
  if (is_path(accept.kind)) return read_path(accept.kind, text, folder);
  if (accept.kind == Kind::text) return {Value{.kind = Kind::text, .text = std::string(text)}, {}};
  return within_limits(read_value(text, accept.kind), accept, text);
}

// Which of a union's kinds the text is meant for, by its unit; none if it fits no kind.
const Accept* meant_kind(const Key& key, std::string_view text) {
  for (const Accept& accept : key.accepts) {
    if (accept.kind == Kind::text || is_path(accept.kind)) return &accept;
    // Among several quantities a bare number could be any of them.
    if (accept.kind == Kind::tokens && key.accepts.size() > 1) {
      const std::optional<NumberAndUnit> parts = split_number(text);
      if (parts && parts->unit.empty()) continue;
    }
    if (read_value(text, accept.kind).value) return &accept;
  }
  return nullptr;
}

// What is wrong with the unit of a text that fits no kind of a union, "" if that is not the fault.
std::string unit_remark(const Key& key, std::string_view text) {
  const std::optional<NumberAndUnit> parts = split_number(text);
  std::vector<std::string> units;
  for (const Accept& accept : key.accepts) {
    for (const Unit& unit : units_of(accept.kind)) units.emplace_back(unit.name);
  }
  if (!parts || units.empty()) return "";
  if (parts->unit.empty()) return fmt::format(", which has no unit; units: {}", joined(units));
  if (std::find(units.begin(), units.end(), parts->unit) != units.end()) return "";
  return fmt::format("; units: {}{}", joined(units), did_you_mean(parts->unit.substr(0, 16), units));
}

}  // namespace

Schema::Schema(std::string title, std::vector<Key> keys, const std::vector<SectionDoc>& sections)
    : title_(std::move(title)), keys_(std::move(keys)) {
  nodes_.emplace_back();
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_[i];
    CHECK_LAW(by_path_.count(key.path) == 0, "key {} stands twice in the table", key.path);
    nodes_[add_node(key.path)].key = i;
    fallbacks_.emplace_back();
    if (key.fallback) {
      Reading reading = read_as(key, *key.fallback, "");
      CHECK_LAW(reading.value.has_value(), "default of {}: {}", key.path, reading.problem);
      fallbacks_.back() = std::move(reading.value);
    }
  }
  for (const Key& key : keys_) {
    if (!key.required_in) continue;
    CHECK_LAW(is_within(*find(key.path), *key.required_in), "{} is required in {}", key.path, *key.required_in);
    CHECK_LAW(!key.fallback, "{} is required and has a default", key.path);
  }
  for (const Key& key : keys_) {
    if (key.items == nullptr) continue;
    CHECK_LAW(key.accepts.empty() && key.words.empty() && !key.fallback, "{} is a list and a value", key.path);
  }
  for (const SectionDoc& section : sections) {
    const std::optional<std::size_t> node = find(section.path);
    CHECK_LAW(node && !nodes_[*node].key, "{} is no section", section.path);
    nodes_[*node].doc = section.doc;
  }
  for (const Node& node : nodes_) {
    CHECK_LAW(!node.key || node.children.empty(), "{} is both a key and a section", node.path);
    if (!node.key) continue;
    const auto [entry, fresh] = elsewhere_.try_emplace(node.name, node.path);
    if (!fresh) entry->second.clear();
  }
  // A name given on purpose outweighs a name that happens to be alike.
  for (const Key& key : keys_) {
    for (const std::string& alias : key.aliases) elsewhere_[alias] = key.path;
  }
}

std::size_t Schema::add_node(const std::string& path) {
  const auto known = by_path_.find(path);
  if (known != by_path_.end()) return known->second;
  const std::size_t dot = path.rfind('.');
  const std::size_t parent = dot == std::string::npos ? 0 : add_node(path.substr(0, dot));
  const std::size_t node = nodes_.size();
  nodes_.emplace_back();
  nodes_[node].name = path.substr(dot == std::string::npos ? 0 : dot + 1);
  nodes_[node].path = path;
  nodes_[node].parent = parent;
  nodes_[parent].children.push_back(node);
  nodes_[parent].by_name.emplace(nodes_[node].name, node);
  by_path_.emplace(path, node);
  return node;
}

std::optional<std::size_t> Schema::find(std::string_view path) const {
  const auto found = by_path_.find(std::string(path));
  if (found == by_path_.end()) return std::nullopt;
  return found->second;
}

std::optional<std::size_t> Schema::child(std::size_t node, std::string_view name) const {
  const auto found = nodes_[node].by_name.find(std::string(name));
  if (found == nodes_[node].by_name.end()) return std::nullopt;
  return found->second;
}

std::vector<std::string> Schema::names_in(std::size_t section) const {
  std::vector<std::string> names;
  for (const std::size_t child : nodes_[section].children) names.push_back(nodes_[child].name);
  return names;
}

bool Schema::is_within(std::size_t node, std::string_view section) const {
  while (node != 0 && nodes_[node].path != section) node = nodes_[node].parent;
  return nodes_[node].path == section;
}

std::string Schema::path_for(std::string_view name) const {
  std::string wanted(name);
  wanted.erase(0, std::min(wanted.find_first_not_of('-'), wanted.size()));
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  const auto found = elsewhere_.find(wanted);
  return found == elsewhere_.end() ? "" : found->second;
}

std::string expectation(const Key& key) {
  if (key.items != nullptr) {
    const std::vector<std::string> names = key.items->names_in(0);
    std::string listed;
    for (const std::string& name : names) listed += (listed.empty() ? "" : ", ") + name;
    return "a list of sections with keys " + listed;
  }
  std::vector<std::string> parts;
  if (key.words.size() > kMostListed) {
    parts.push_back(fmt::format("one of {} names", key.words.size()));
  } else {
    parts = names_of(key.words);
  }
  for (const Accept& accept : key.accepts) {
    parts.push_back(is_quantity(accept.kind) ? fmt::format("{} ({})", noun_of(accept.kind), example_of(accept.kind))
                                             : std::string(noun_of(accept.kind)));
  }
  return joined(parts);
}

Reading read_as(const Key& key, std::string_view text, const std::string& folder) {
  for (const NameDoc& word : key.words) {
    if (word.name == text) return {Value{.kind = Kind::word, .text = word.name}, {}};
  }
  if (text.empty()) return problem(fmt::format("no value; expected {}", expectation(key)));
  if (has_control_characters(text)) {
    return problem(fmt::format("expected {}, found {} with a control character", expectation(key), in_quotes(text)));
  }
  // A name mistyped is not a file that is missing.
  const bool name_or_file = accepts(key, Kind::file) && !key.words.empty();
  if (key.words.empty() && key.accepts.size() == 1) return read_accepted(key.accepts.front(), text, folder);
  if (!name_or_file || looks_like_path(text)) {
    const Accept* accept = meant_kind(key, text);
    if (accept != nullptr) return read_accepted(*accept, text, folder);
  }
  // Of the right form, and too large.
  if (const std::optional<NumberAndUnit> parts = split_number(text); parts && !parts->unit.empty()) {
    for (const Accept& accept : key.accepts) {
      const std::span<const Unit> units = units_of(accept.kind);
      if (std::ranges::find(units, parts->unit, &Unit::name) == units.end()) continue;
      if (Reading reading = read_value(text, accept.kind); !reading.value) return reading;
    }
  }
  return problem(fmt::format("expected {}, found {}{}{}", expectation(key), in_quotes(text), unit_remark(key, text),
                             did_you_mean(text.substr(0, 64), names_of(key.words))));
}

}  // namespace blockyard::scenario
