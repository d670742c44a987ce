#include "sim/scenario/document.h"

#include <fmt/format.h>

#include <utility>

#include "sim/base/check.h"

namespace blockyard::scenario {

Document::Document(Schema schema, std::string name)
    : Document(std::make_shared<const Schema>(std::move(schema)), std::move(name)) {}

Document::Document(std::shared_ptr<const Schema> schema, std::string name)
    : schema_(std::move(schema)), name_(std::move(name)), place_{name_, 0, 0}, slots_(schema_->nodes().size()) {
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const std::optional<std::size_t> key = schema_->nodes()[i].key;
    if (!key || !schema_->fallback(*key)) continue;
    slots_[i].value = *schema_->fallback(*key);
    slots_[i].valued = true;
  }
}

bool Document::has(std::string_view path) const { return schema_->find(path).has_value(); }
bool Document::is_set(std::string_view path) const { return slots_[node_of(path)].given; }
bool Document::has_value(std::string_view path) const { return slots_[node_of(path)].valued; }
Kind Document::kind(std::string_view path) const { return value_of(path).kind; }

bool Document::is_word(std::string_view path, std::string_view word) const {
  return is(path, Kind::word) && value_of(path).text == word;
}

bool Document::boolean(std::string_view path) const { return value_of(path, Kind::boolean).count != 0; }
std::int64_t Document::integer(std::string_view path) const { return value_of(path, Kind::integer).count; }
double Document::real(std::string_view path) const { return value_of(path, Kind::real).number; }

const std::string& Document::text(std::string_view path) const {
  const Value& value = value_of(path);
  CHECK_LAW(
      value.kind == Kind::text || value.kind == Kind::word || value.kind == Kind::file || value.kind == Kind::path,
      "{} is {}", path, noun_of(value.kind));
  return value.text;
}

const std::string& Document::choice(std::string_view path) const { return value_of(path, Kind::word).text; }
std::filesystem::path Document::file(std::string_view path) const {
  return value_of(path, is(path, Kind::path) ? Kind::path : Kind::file).text;
}
Tokens Document::tokens(std::string_view path) const { return Tokens(value_of(path, Kind::tokens).count); }
Blocks Document::blocks(std::string_view path) const { return Blocks(value_of(path, Kind::blocks).count); }
Bytes Document::bytes(std::string_view path) const { return Bytes(value_of(path, Kind::bytes).count); }
SimTime Document::time(std::string_view path) const { return SimTime(value_of(path, Kind::time).count); }
double Document::rate(std::string_view path) const { return value_of(path, Kind::rate).number; }
double Document::bandwidth(std::string_view path) const { return value_of(path, Kind::bandwidth).number; }
double Document::flops(std::string_view path) const { return value_of(path, Kind::flops).number; }

const std::vector<Document>& Document::items(std::string_view path) const {
  const Slot& slot = slots_[node_of(path)];
  slot.used = true;
  return slot.items;
}

Place Document::place(std::string_view path) const {
  std::size_t node = node_of(path);
  while (node != 0 && !slots_[node].given) node = schema_->nodes()[node].parent;
  return node == 0 ? place_ : slots_[node].place;
}

void Document::expect_one_of(std::span<const std::string_view> paths, Diagnostics& diagnostics) const {
  std::string names;
  std::string_view first;
  bool several = false;
  for (const std::string_view path : paths) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", path);
    if (!is_set(path)) continue;
    if (first.empty()) {
      first = path;
    } else {
      several = true;
      diagnostics.add(place(path), fmt::format("{}: given beside {}, of which only one can hold", path, first));
    }
  }
  if (first.empty() && !several) {
    diagnostics.add(place(paths.front()), fmt::format("exactly one of these has to be given: {}", names));
  }
}

std::vector<std::string> Document::unused() const {
  std::vector<std::string> paths;
  for (const Schema::Node& node : schema_->nodes()) {
    const Slot& slot = slots_[static_cast<std::size_t>(&node - schema_->nodes().data())];
    if (node.key && slot.given && !slot.used) paths.push_back(node.path);
    for (std::size_t i = 0; slot.used && i < slot.items.size(); ++i) {
      for (const std::string& key : slot.items[i].unused())
        paths.push_back(fmt::format("{}[{}].{}", node.path, i, key));
    }
  }
  return paths;
}

void Document::set(std::size_t node, Value value, Place place) {
  set_section(schema_->nodes()[node].parent, place);
  slots_[node].value = std::move(value);
  slots_[node].place = std::move(place);
  slots_[node].given = true;
  slots_[node].valued = true;
}

void Document::set_items(std::size_t node, std::vector<Document> items, Place place) {
  slots_[node].items = std::move(items);
  set(node, {}, std::move(place));
}

void Document::set_section(std::size_t node, const Place& place) {
  for (; node != 0 && !slots_[node].given; node = schema_->nodes()[node].parent) {
    slots_[node].given = true;
    slots_[node].place = place;
  }
}

std::size_t Document::node_of(std::string_view path) const {
  const std::optional<std::size_t> node = schema_->find(path);
  CHECK_LAW(node.has_value(), "{} is not in the schema of a {}", path, schema_->title());
  return *node;
}

const Value& Document::value_of(std::string_view path) const {
  const Slot& slot = slots_[node_of(path)];
  CHECK_LAW(slot.valued, "{} has no value", path);
  slot.used = true;
  return slot.value;
}

const Value& Document::value_of(std::string_view path, Kind kind) const {
  const Value& value = value_of(path);
  CHECK_LAW(value.kind == kind, "{} is {}, asked for {}", path, noun_of(value.kind), noun_of(kind));
  return value;
}

}  // namespace blockyard::scenario
