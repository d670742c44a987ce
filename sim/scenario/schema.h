// The table that a file is read by: one Key a value, with its dotted path, what it accepts, default and meaning. The
// same table drives validation (load.h), `--set`, the JSON Schema and the documentation; names of policies come from
// the tables of other rooms, through the caller.
//
//   Schema schema("scenario", {
//       {.path = "seed", .accepts = {Kind::integer}, .fallback = "1", .doc = "seed of every random stream"},
//       {.path = "engine.max_num_seqs", .accepts = {{Kind::integer, at_least(1)}}, .fallback = "256", .doc = "..."},
//       {.path = "kv_cache.budget", .accepts = {{Kind::blocks, above(0)}, {Kind::bytes, above(0)}},
//        .words = {{"auto", "what the GPU leaves"}}, .fallback = "auto", .aliases = {"num_gpu_blocks_override"}, ...},
//   });
//
// A key with `items` is a list, each of whose items is a section of those keys: `[{share: 3}, {share: 1}]`.
//
// Laws (checked when the schema is built): paths are unique and no key is a section; every fallback is a valid value of
// its key; a key is required only in a section that it stands in. Lookup O(1) by path.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/base/named.h"
#include "sim/scenario/value.h"

namespace blockyard::scenario {

// Limits of a number, or of a quantity in its base unit (value.h): s, B, tokens, req/s, ...
struct Limits {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_excluded = false;
};
[[nodiscard]] constexpr Limits at_least(double low) { return {.low = low}; }
[[nodiscard]] constexpr Limits above(double low) { return {.low = low, .low_excluded = true}; }
[[nodiscard]] constexpr Limits between(double low, double high) { return {.low = low, .high = high}; }
[[nodiscard]] constexpr Limits above_up_to(double low, double high) {
  return {.low = low, .high = high, .low_excluded = true};
}

// One kind that a key accepts. Several make a union; the first that the text fits is taken.
struct Accept {
  Kind kind;
  Limits limits;

  // NOLINTNEXTLINE(google-explicit-constructor): a key lists plain kinds.
  constexpr Accept(Kind accepted, Limits within = {}) : kind(accepted), limits(within) {}
};

class Schema;

struct Key {
  std::string path;                       // "engine.max_num_seqs"
  std::vector<Accept> accepts{};          // kinds, beside the words
  NameDocs words{};                       // words taken as such: the names of an enumeration, "auto", "unlimited"
  std::optional<std::string> fallback{};  // default, as text; none = no value
  // The section that cannot be without this key: "" = the whole file, so that it must always be given.
  std::optional<std::string> required_in{};
  std::string doc{};                      // one line
  std::vector<std::string> aliases{};     // names that other programs give it: answered with the right path
  std::shared_ptr<const Schema> items{};  // a list: the keys of each of its items
};

struct SectionDoc {
  std::string path;
  std::string doc;
};

class Schema {
 public:
  // A node of the tree that the paths make; node 0 is the top.
  struct Node {
    std::string name;
    std::string path;
    std::string doc;  // of a section
    std::size_t parent = 0;
    std::optional<std::size_t> key;     // index into keys(); none = a section
    std::vector<std::size_t> children;  // of a section, in table order
    std::unordered_map<std::string, std::size_t> by_name;
  };

  Schema(std::string title, std::vector<Key> keys, const std::vector<SectionDoc>& sections = {});

  [[nodiscard]] const std::string& title() const { return title_; }
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  // The value of a key's fallback; none if it has none.
  [[nodiscard]] const std::optional<Value>& fallback(std::size_t key) const { return fallbacks_[key]; }
  [[nodiscard]] std::optional<std::size_t> find(std::string_view path) const;  // a node: key or section
  [[nodiscard]] std::optional<std::size_t> child(std::size_t node, std::string_view name) const;
  [[nodiscard]] std::vector<std::string> names_in(std::size_t section) const;
  // Is the node the section itself or something in it?
  [[nodiscard]] bool is_within(std::size_t node, std::string_view section) const;
  // The key that another program's name means, or whose last name it is if only one key has it; else "".
  [[nodiscard]] std::string path_for(std::string_view name) const;

 private:
  std::size_t add_node(const std::string& path);

  std::string title_;
  std::vector<Key> keys_;
  std::vector<Node> nodes_;
  std::vector<std::optional<Value>> fallbacks_;
  std::unordered_map<std::string, std::size_t> by_path_;
  std::unordered_map<std::string, std::string> elsewhere_;  // bare name -> path, "" = more than one
};

// What a key takes, in words: "auto, or a number of blocks (30720 blocks) or bytes (24 GiB)".
[[nodiscard]] std::string expectation(const Key& key);

// The text as a value of the key; `folder` is where relative paths start. On failure the problem, without place and
// path: `expected an integer, found "many"`.
[[nodiscard]] Reading read_as(const Key& key, std::string_view text, const std::string& folder);

}  // namespace blockyard::scenario
