#include "sim/scenario/load.h"

#include <fmt/format.h>
#include <yaml-cpp/depthguard.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <system_error>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/scenario/text_check.h"

namespace blockyard::scenario {
namespace {

// Longer files are something else, a trace for instance.
constexpr std::size_t kLongestFile = std::size_t{4} << 20;
// An item takes some kilobytes.
constexpr std::size_t kMostItems = 10'000;

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

// Where a document begins, and where scalars that are not plain do. Documents are counted by hand, two at most: the
// library's own loop over all documents never ends where a stray comma stands between them.
class DocumentStart final : public YAML::EventHandler {
 public:
  YAML::Mark mark;
  std::vector<YAML::Mark> not_plain;

  void OnDocumentStart(const YAML::Mark& at) override { mark = at; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark& at, const std::string& tag, YAML::anchor_t, const std::string&) override {
    if (tag != "?") not_plain.push_back(at);
  }
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}
};

// The library takes the end of the text for the end of a quote.
bool opens_a_quote_for_ever(std::string_view text, const YAML::Mark& scalar) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  std::size_t at = static_cast<std::size_t>(scalar.pos);
  // A scalar begins with its tag and its anchor.
  while (at < text.size() && (text[at] == '!' || text[at] == '&')) {
    at = std::min(text.find_first_of(" \t\r\n", at), text.size());
    at = std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }
  if (at >= text.size() || (text[at] != '"' && text[at] != '\'')) return false;
  const char quote = text[at];
  for (++at; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 == text.size() || text[at + 1] != quote) return false;
      ++at;  // '' is a quote inside
    }
  }
  return true;
}

// One pass over a tree of YAML against a schema; every fault goes into the diagnostics.
class Reader {
 public:
  Reader(Document& document, Diagnostics& diagnostics, std::string_view without = {})
      : without_(without),
        document_(document),
        schema_(document.schema()),
        diagnostics_(diagnostics),
        seen_(document.schema().nodes().size()) {}

  void read_file(std::string_view text, const std::filesystem::path& folder) {
    folder_ = folder.string();
    const std::optional<YAML::Node> top = parse_yaml(text);
    if (top) {
      read_section(*top, 0, {document_.name(), 0, 0});
    } else {
      seen_[0] = true;  // nothing can be missing from what could not be read
    }
  }

  // "path=value". Its values start in the current folder, and win over all read before.
  void read_assignment(const std::string& assignment) {
    folder_.clear();
    fixed_place_ = Place{fmt::format("--set {}", assignment), 0, 0};
    const std::size_t equals = assignment.find('=');
    if (equals == std::string::npos || equals == 0) {
      diagnostics_.add(*fixed_place_, "expected key=value, such as engine.max_num_seqs=64");
    } else if (const std::string section = assignment.substr(0, assignment.find_first_of(".=")); left_out(0, section)) {
      document_.set_section(*schema_.child(0, section), *fixed_place_);
    } else if (const auto value = parse_yaml(std::string_view(assignment).substr(equals + 1))) {
      assign(std::string_view(assignment).substr(0, equals), *value);
    }
    fixed_place_.reset();
  }

  void require_keys() {
    for (const Schema::Node& node : schema_.nodes()) {
      if (!node.key) continue;
      const Key& key = schema_.keys()[*node.key];
      if (!key.required_in || was_seen(index_of_node(node))) continue;
      if (!key.required_in->empty() && !document_.is_set(*key.required_in)) continue;
      diagnostics_.add(document_.place(node.path),
                       fmt::format("{}: required but not given; expected {}", node.path, expectation(key)));
    }
    for (const auto& [list, index] : assigned_items_) {
      if (index >= document_.items_of(list).size()) continue;  // a later assignment gave another list
      Diagnostics found;
      Reader item(document_.items_of(list)[index], found, *this);
      item.see_what_is_set();
      item.require_keys();
      add_item_errors(schema_.nodes()[list].path, index, found);
    }
  }

 private:
  // A reader of an item of a list, which starts paths where this one does.
  Reader(Document& item, Diagnostics& diagnostics, const Reader& list) : Reader(item, diagnostics) {
    folder_ = list.folder_;
    fixed_place_ = list.fixed_place_;
  }

  [[nodiscard]] bool left_out(std::size_t section, const std::string& name) const {
    return section == 0 && !without_.empty() && name == without_;
  }

  // What is wrong with an item, by its path from the top.
  void add_item_errors(const std::string& list, std::size_t item, const Diagnostics& found) {
    for (const Diagnostic& d : found.list()) {
      diagnostics_.add(d.place, fmt::format("{}[{}].{}", list, item, d.message));
    }
  }

  // The path may lead into an item of a list: "clients[2].share".
  void assign(std::string_view path, const YAML::Node& value) {
    const std::size_t bracket = path.find('[');
    const std::optional<std::size_t> node = find_key(path.substr(0, bracket));
    if (!node) return;
    if (bracket == std::string_view::npos) {
      read_key(value, *node, *fixed_place_);
      return;
    }
    const std::string list(path.substr(0, bracket));
    std::vector<Document>& items = document_.items_of(*node);
    const std::string_view rest = path.substr(bracket + 1);
    std::size_t index = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
    const std::string_view behind = rest.substr(static_cast<std::size_t>(end - rest.data()));
    if (error != std::errc() || !behind.starts_with("].") || index >= items.size()) {
      diagnostics_.add(*fixed_place_, fmt::format("{}: it has {} items; expected {}[0].KEY, the first counted as 0",
                                                  in_quotes(path), items.size(), list));
      return;
    }
    assigned_items_.emplace(*node, index);
    Diagnostics found;
    Reader(items[index], found, *this).assign(behind.substr(2), value);
    add_item_errors(list, index, found);
  }

  void read_list(const YAML::Node& value, std::size_t node, const Place& place) {
    const Schema::Node& row = schema_.nodes()[node];
    const Key& key = schema_.keys()[*row.key];
    if (!value.IsSequence() || value.size() == 0) {
      const std::string shape = value.IsSequence() ? "an empty list" : shape_of(value);
      fail(node, place, fmt::format("{}: expected {}; found {}", row.path, expectation(key), shape));
      return;
    }
    if (value.size() > kMostItems) {
      fail(node, place, fmt::format("{}: a list of {} items; expected {} at most", row.path, value.size(), kMostItems));
      return;
    }
    std::vector<Document> items;
    items.reserve(value.size());
    for (std::size_t i = 0; i < value.size(); ++i) {
      const YAML::Node entry = value[i];
      const Place at = place_of(entry.Mark(), place);
      if (!entry.IsMap()) {
        fail(node, at,
             fmt::format("{}[{}]: expected a section with keys {}; found {}", row.path, i,
                         joined(key.items->names_in(0)), shape_of(entry)));
        continue;
      }
      items.emplace_back(key.items, document_.name());
      items.back().set_place(at);
      Diagnostics found;
      Reader reader(items.back(), found, *this);
      reader.read_section(entry, 0, at);
      reader.require_keys();
      add_item_errors(row.path, i, found);
    }
    document_.set_items(node, std::move(items), place);
  }

  void see_what_is_set() {
    for (const Schema::Node& node : schema_.nodes()) {
      if (node.key && document_.is_set(node.path)) seen_[index_of_node(node)] = true;
    }
  }

  [[nodiscard]] std::size_t index_of_node(const Schema::Node& node) const {
    return static_cast<std::size_t>(&node - schema_.nodes().data());
  }

  // Given in whatever form, or inside a section that has its own error.
  [[nodiscard]] bool was_seen(std::size_t node) const {
    for (; node != 0; node = schema_.nodes()[node].parent) {
      if (seen_[node]) return true;
    }
    return seen_[0];
  }

  [[nodiscard]] Place place_of(const YAML::Mark& mark, const Place& otherwise) const {
    if (fixed_place_) return *fixed_place_;
    if (mark.is_null()) return otherwise;
    return {document_.name(), mark.line + 1, mark.column + 1};
  }

  std::optional<YAML::Node> parse_yaml(std::string_view text) {
    const Place whole = fixed_place_ ? *fixed_place_ : Place{document_.name(), 0, 0};
    if (const std::optional<TextFault> fault = first_fault(text)) {
      diagnostics_.add(fixed_place_ ? whole : Place{document_.name(), fault->line, fault->column}, fault->message);
      return std::nullopt;
    }
    if (fixed_place_ && text.starts_with('%')) {
      diagnostics_.add(whole, "a value that begins with % has to stand in quotes");
      return std::nullopt;
    }
    try {
      std::istringstream stream{std::string(text)};
      YAML::Parser parser(stream);
      DocumentStart start;
      parser.HandleNextDocument(start);
      for (const YAML::Mark& scalar : start.not_plain) {
        if (!opens_a_quote_for_ever(text, scalar)) continue;
        diagnostics_.add(place_of(scalar, whole), "not valid YAML: the quote that begins here is not closed");
        return std::nullopt;
      }
      if (parser.HandleNextDocument(start)) {
        diagnostics_.add(place_of(start.mark, whole), "expected one YAML document; what begins here is no part of it");
        return std::nullopt;
      }
      return YAML::Load(std::string(text));
    } catch (const YAML::DeepRecursion& error) {
      diagnostics_.add(place_of(error.mark, whole), "not valid YAML: nested too deeply");
      return std::nullopt;
    } catch (const YAML::Exception& error) {
      const bool at_end = error.msg == YAML::ErrorMsg::EOF_IN_SCALAR;
      diagnostics_.add(
          place_of(error.mark, whole),
          fmt::format("not valid YAML: {}", at_end ? "a quote is not closed before the text ends" : error.msg));
      return std::nullopt;
    }
  }

  void read_section(const YAML::Node& map, std::size_t section, const Place& at) {
    const Schema::Node& node = schema_.nodes()[section];
    const std::string prefix = section == 0 ? "" : node.path + ": ";
    if (map.IsNull()) {
      // An empty section says as little as none; an empty file is a mistake.
      if (section == 0)
        fail(section, at, fmt::format("empty; expected a {} with keys {}", schema_.title(), keys_of(0)));
      return;
    }
    if (!map.IsMap()) {
      fail(section, section == 0 ? place_of(map.Mark(), at) : at,
           fmt::format("{}expected a section with keys {}; found {}", prefix, keys_of(section), shape_of(map)));
      return;
    }
    std::unordered_map<std::string, int> lines;
    for (const auto& entry : map) {
      const Place place = place_of(entry.first.Mark(), at);
      if (!entry.first.IsScalar()) {
        diagnostics_.add(place, fmt::format("{}a key has to be a plain name; found {}", prefix, shape_of(entry.first)));
        continue;
      }
      const std::string& name = entry.first.Scalar();
      const auto [first, fresh] = lines.try_emplace(name, place.line);
      const std::optional<std::size_t> child = schema_.child(section, name);
      if (!fresh) {
        diagnostics_.add(place,
                         fmt::format("{}: given twice; first in line {}", path_to(section, name), first->second));
      } else if (!child) {
        diagnostics_.add(place, unknown(section, name));
      } else if (left_out(section, name)) {
        document_.set_section(*child, place);
      } else if (schema_.nodes()[*child].key) {
        read_key(entry.second, *child, place);
      } else {
        document_.set_section(*child, place);
        read_section(entry.second, *child, place);
      }
    }
  }

  void read_key(const YAML::Node& value, std::size_t node, const Place& at) {
    const Schema::Node& row = schema_.nodes()[node];
    const Key& key = schema_.keys()[*row.key];
    seen_[node] = true;
    const Place place = place_of(value.Mark(), at);
    if (value.IsNull()) {
      fail(node, at, fmt::format("{}: no value; expected {}", row.path, expectation(key)));
      return;
    }
    if (key.items != nullptr) {
      read_list(value, node, place);
      return;
    }
    if (!value.IsScalar()) {
      fail(node, place, fmt::format("{}: expected {}, found {}", row.path, expectation(key), shape_of(value)));
      return;
    }
    Reading reading = read_as(key, value.Scalar(), folder_);
    if (reading.value) {
      document_.set(node, std::move(*reading.value), place);
    } else {
      fail(node, place, fmt::format("{}: {}", row.path, reading.problem));
    }
  }

  // The node of a dotted path to a key.
  std::optional<std::size_t> find_key(std::string_view path) {
    std::size_t node = 0;
    std::size_t begin = 0;
    while (begin <= path.size()) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const std::string name(path.substr(begin, end - begin));
      if (schema_.nodes()[node].key) {
        diagnostics_.add(*fixed_place_, fmt::format("{}: a value, not a section; it has no key {}",
                                                    schema_.nodes()[node].path, in_quotes(name)));
        return std::nullopt;
      }
      const std::optional<std::size_t> child = schema_.child(node, name);
      if (!child) {
        diagnostics_.add(*fixed_place_, unknown(node, name));
        return std::nullopt;
      }
      node = *child;
      begin = end + 1;
    }
    if (schema_.nodes()[node].key) return node;
    diagnostics_.add(*fixed_place_,
                     fmt::format("{}: a section; set one of its keys: {}", schema_.nodes()[node].path, keys_of(node)));
    return std::nullopt;
  }

  [[nodiscard]] std::string unknown(std::size_t section, const std::string& name) const {
    const std::string path = path_to(section, name);
    if (name == "<<") return path + ": merge keys are not taken; write the keys out";
    if (name.find('.') != std::string::npos && schema_.find(name)) {
      return fmt::format("{}: dotted names are for --set; here sections are nested", path);
    }
    const std::vector<std::string> names = schema_.names_in(section);
    const std::string elsewhere = schema_.path_for(name);
    if (!elsewhere.empty()) return fmt::format("{}: unknown key; here it is {}", path, elsewhere);
    const std::string slip = name.size() > kLongestSlip ? "" : did_you_mean(name, names);
    if (!slip.empty()) return fmt::format("{}: unknown key{}", path, slip);
    return fmt::format("{}: unknown key; expected one of {}", path, joined(names));
  }

  [[nodiscard]] std::string path_to(std::size_t section, const std::string& name) const {
    const std::string shown = in_quotes(name);
    const std::string bare = shown.substr(1, shown.size() - 2);
    return section == 0 ? bare : fmt::format("{}.{}", schema_.nodes()[section].path, bare);
  }

  [[nodiscard]] std::string keys_of(std::size_t section) const { return joined(schema_.names_in(section)); }

  static std::string shape_of(const YAML::Node& node) {
    if (node.IsMap()) return "a section";
    if (node.IsSequence()) return "a list";
    if (node.IsScalar()) return in_quotes(node.Scalar());
    return "nothing";
  }

  void fail(std::size_t node, Place place, std::string message) {
    seen_[node] = true;
    diagnostics_.add(std::move(place), std::move(message));
  }

  // A longer name is no slip of the hand; comparing it would cost the square of its length.
  static constexpr std::size_t kLongestSlip = 64;

  std::string_view without_;
  Document& document_;
  const Schema& schema_;
  Diagnostics& diagnostics_;
  std::vector<bool> seen_;                                        // one a node: given, or failed
  std::set<std::pair<std::size_t, std::size_t>> assigned_items_;  // of lists, by assignments: a key may lack another
  std::string folder_;
  std::optional<Place> fixed_place_;  // of an assignment, which has no lines
};

std::string read_text(const std::filesystem::path& file) {
  const Place place{file.string(), 0, 0};
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) throw InputError(place, "a folder; expected a YAML file");
  if (file.empty()) throw InputError(place, "\"\": no name of a file; expected a YAML file");
  if (!std::filesystem::exists(file, error)) throw InputError(place, "no such file");
  std::ifstream stream(file, std::ios::binary);
  if (!stream) throw InputError(place, "cannot be opened");
  std::string text(kLongestFile + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (stream.bad()) throw InputError(place, "cannot be read");
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kLongestFile) {
    throw InputError(place, fmt::format("longer than {} bytes; is this a YAML file?", kLongestFile));
  }
  return text;
}

}  // namespace

Document parse(std::string_view text, const std::string& name, const Schema& schema, std::span<const std::string> sets,
               const std::filesystem::path& folder, std::string_view without) {
  Document document(schema, name);
  Diagnostics diagnostics;
  Reader reader(document, diagnostics, without);
  reader.read_file(text, folder);
  for (const std::string& assignment : sets) reader.read_assignment(assignment);
  reader.require_keys();
  diagnostics.throw_if_any();
  return document;
}

Document load(const std::filesystem::path& file, const Schema& schema, std::span<const std::string> sets,
              std::string_view without) {
  return parse(read_text(file), file.string(), schema, sets, file.parent_path(), without);
}

}  // namespace blockyard::scenario
