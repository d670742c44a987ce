// Fields of one object of a config.json, read with their types checked. What is wrong is collected with its place; the
// reader goes on with a harmless value, so that every fault is found in one go.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"

namespace blockyard::model {

class HfFields {
 public:
  // The object outlives the fields, and so does all else; `from` is where it opens in the text.
  HfFields(const nlohmann::json& object, std::string_view text, const std::string& file, Diagnostics& diagnostics,
           std::size_t from = 0);

  [[nodiscard]] bool has(std::string_view key) const;  // there and not null
  [[nodiscard]] bool is_list(std::string_view key) const;
  [[nodiscard]] bool is_text(std::string_view key, std::string_view value) const;
  [[nodiscard]] bool is_negative(std::string_view key) const;

  // At least 1, and below what is absurd for such a field; missing is a fault unless `absent` says what it means.
  [[nodiscard]] std::int64_t integer(std::string_view key);
  [[nodiscard]] std::int64_t integer(std::string_view key, std::int64_t absent);
  // The first of `keys` that is there: families name one thing differently.
  [[nodiscard]] std::int64_t integer(std::initializer_list<std::string_view> keys);
  [[nodiscard]] std::int64_t integer(std::initializer_list<std::string_view> keys, std::int64_t absent);
  [[nodiscard]] std::int64_t count(std::string_view key, std::int64_t absent);  // like integer, but may be 0
  [[nodiscard]] bool boolean(std::string_view key, bool absent);
  [[nodiscard]] double real(std::string_view key, double absent);  // > 0
  [[nodiscard]] std::optional<std::string> text(std::string_view key);
  // Empty if missing.
  [[nodiscard]] std::vector<std::int64_t> integers(std::string_view key);
  [[nodiscard]] std::vector<std::string> texts(std::string_view key);
  // Nothing if missing.
  [[nodiscard]] std::optional<HfFields> object(std::string_view key);
  [[nodiscard]] std::vector<HfFields> objects(std::string_view key);  // a list of them
  [[nodiscard]] std::vector<HfFields> members(std::string_view key);  // an object of them, whatever their names

  void complain(std::string_view key, std::string message);
  [[nodiscard]] bool clean() const { return diagnostics_->empty(); }  // nothing was wrong so far

 private:
  [[nodiscard]] const nlohmann::json& at(std::string_view key) const;
  [[nodiscard]] std::int64_t number(std::string_view key, std::int64_t low, std::int64_t absent);
  [[nodiscard]] Place place_of(std::string_view key) const;

  const nlohmann::json* object_;
  std::string_view text_;
  const std::string* file_;
  Diagnostics* diagnostics_;
  std::size_t from_;
};

// Where the value of a key of the object at `from` begins, and where the key itself; npos where it has no such key.
struct KeyPosition {
  std::size_t key = std::string_view::npos;
  std::size_t value = std::string_view::npos;
};
[[nodiscard]] KeyPosition find_key(std::string_view text, std::size_t from, std::string_view key);

// Line and column of a byte of a file's text.
[[nodiscard]] Place place_of_byte(std::string_view text, std::size_t byte, const std::string& file);

}  // namespace blockyard::model
