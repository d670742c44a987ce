// A validated file: typed values by dotted path, with defaults filled in and the place of each.
//
//   const Document doc = load("chat.yaml", schema, sets);
//   const Tokens chunk = doc.tokens("engine.max_num_batched_tokens");
//   if (doc.is("kv_cache.budget", Kind::blocks)) ... doc.blocks("kv_cache.budget") ...
//   if (low > high) diagnostics.add(doc.place("workload.generate.prompt_tokens.low"), "...");
//   for (const Document& client : doc.items("workload.generate.clients")) ... client.rate("arrivals.rate") ...
//
// Laws: a path that the schema lacks, a key without a value and a getter of another kind are mistakes of the program
// (CHECK_LAW), never of the user. Reading a key marks it as used. Every call O(1). One document, one thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/quantities.h"
#include "sim/scenario/schema.h"

namespace blockyard::scenario {

class Document {
 public:
  Document(Schema schema, std::string name);
  Document(std::shared_ptr<const Schema> schema, std::string name);  // shared: items of a list have one in common

  [[nodiscard]] const std::string& name() const { return name_; }  // the file, as diagnostics call it
  [[nodiscard]] const Schema& schema() const { return *schema_; }

  [[nodiscard]] bool has(std::string_view path) const;        // a key or section of the schema
  [[nodiscard]] bool is_set(std::string_view path) const;     // given by the user; a section: present, or a key in it
  [[nodiscard]] bool has_value(std::string_view path) const;  // given, or with a default
  // Which of the alternatives of a key its value is.
  [[nodiscard]] Kind kind(std::string_view path) const;
  [[nodiscard]] bool is(std::string_view path, Kind kind) const { return has_value(path) && this->kind(path) == kind; }
  [[nodiscard]] bool is_word(std::string_view path, std::string_view word) const;

  [[nodiscard]] bool boolean(std::string_view path) const;
  [[nodiscard]] std::int64_t integer(std::string_view path) const;
  [[nodiscard]] double real(std::string_view path) const;
  [[nodiscard]] const std::string& text(std::string_view path) const;     // text, word or file
  [[nodiscard]] const std::string& choice(std::string_view path) const;   // word
  [[nodiscard]] std::filesystem::path file(std::string_view path) const;  // or folder
  [[nodiscard]] Tokens tokens(std::string_view path) const;
  [[nodiscard]] Blocks blocks(std::string_view path) const;
  [[nodiscard]] Bytes bytes(std::string_view path) const;
  [[nodiscard]] SimTime time(std::string_view path) const;
  [[nodiscard]] double rate(std::string_view path) const;       // requests per second
  [[nodiscard]] double bandwidth(std::string_view path) const;  // bytes per second
  [[nodiscard]] double flops(std::string_view path) const;      // operations per second

  // The items of a list, none if it is not given; each a document of its own, with paths that begin in it.
  [[nodiscard]] const std::vector<Document>& items(std::string_view path) const;

  [[nodiscard]] const Place& place() const { return place_; }
  // Where the value stands; of a key not given, where its nearest section does; else the file, or the item of a list.
  [[nodiscard]] Place place(std::string_view path) const;
  // Adds an error if not exactly one of the paths is given.
  void expect_one_of(std::span<const std::string_view> paths, Diagnostics& diagnostics) const;

  // Keys that the user gave and nothing has read, in table order.
  [[nodiscard]] std::vector<std::string> unused() const;

  // For the reader of files.
  void set(std::size_t node, Value value, Place place);
  void set_section(std::size_t node, const Place& place);
  void set_items(std::size_t node, std::vector<Document> items, Place place);
  [[nodiscard]] std::vector<Document>& items_of(std::size_t node) { return slots_[node].items; }
  void set_place(Place place) { place_ = std::move(place); }

 private:
  struct Slot {
    Value value;
    Place place;
    std::vector<Document> items;
    bool given = false;
    bool valued = false;
    mutable bool used = false;
  };

  [[nodiscard]] std::size_t node_of(std::string_view path) const;
  [[nodiscard]] const Value& value_of(std::string_view path) const;
  [[nodiscard]] const Value& value_of(std::string_view path, Kind kind) const;

  std::shared_ptr<const Schema> schema_;
  std::string name_;
  Place place_;              // of the whole
  std::vector<Slot> slots_;  // one a node
};

}  // namespace blockyard::scenario
