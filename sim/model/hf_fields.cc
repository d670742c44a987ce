#include "sim/model/hf_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

namespace blockyard::model {
namespace {

using nlohmann::json;

// The largest value that a field may have: far above any model, and low enough that products of fields stay exact in 64
// bits.
std::int64_t largest(std::string_view key) {
  struct Limit {
    std::string_view part;
    std::int64_t most;
  };
  constexpr std::array kLimits{
      Limit{"vocab", 100'000'000},       Limit{"position", 1'000'000'000}, Limit{"seq", 1'000'000'000},
      Limit{"length", 1'000'000'000},    Limit{"window", 1'000'000'000},   Limit{"chunk", 1'000'000'000},
      Limit{"intermediate", 10'000'000}, Limit{"ffn", 10'000'000},         Limit{"inner", 10'000'000},
      Limit{"d_ssm", 10'000'000},        Limit{"expert_dim", 10'000'000},  Limit{"hidden", 1'000'000},
      Limit{"embd", 1'000'000},          Limit{"n_embed", 1'000'000},      Limit{"d_model", 1'000'000}};
  for (const Limit& limit : kLimits) {
    if (key.find(limit.part) != std::string_view::npos) return limit.most;
  }
  return 100'000;
}

constexpr double kLargestReal = 10'000;
constexpr std::size_t kShown = 60;  // characters of a wrong value

std::string shown(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > kShown) text = text.substr(0, kShown) + "...";
  return text;
}

}  // namespace

Place place_of_byte(std::string_view text, std::size_t byte, const std::string& file) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_start = before.rfind('\n') + 1;  // npos + 1 = 0
  return {file, static_cast<int>(line), static_cast<int>(before.size() - line_start) + 1};
}

// The text is JSON: a walk over its strings and brackets finds the keys of one object without those inside of it.
KeyPosition find_key(std::string_view text, std::size_t from, std::string_view key) {
  int depth = 0;
  for (std::size_t i = text.find('{', from); i < text.size(); ++i) {
    const char c = text[i];
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth == 0) break;
    } else if (c == '"') {
      const std::size_t open = i;
      for (++i; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\') ++i;
      }
      if (depth != 1 || text.substr(open + 1, i - open - 1) != key) continue;
      const std::size_t next = text.find_first_not_of(" \t\r\n", i + 1);
      if (next == std::string_view::npos || text[next] != ':') continue;  // a value that is spelt so
      return {open, text.find_first_not_of(" \t\r\n", next + 1)};
    }
  }
  return {};
}

HfFields::HfFields(const json& object, std::string_view text, const std::string& file, Diagnostics& diagnostics,
                   std::size_t from)
    : object_(&object), text_(text), file_(&file), diagnostics_(&diagnostics), from_(from) {}

const json& HfFields::at(std::string_view key) const { return (*object_)[std::string(key)]; }

bool HfFields::has(std::string_view key) const {
  const auto found = object_->find(std::string(key));
  return found != object_->end() && !found->is_null();
}

bool HfFields::is_list(std::string_view key) const { return has(key) && at(key).is_array(); }

bool HfFields::is_text(std::string_view key, std::string_view value) const {
  return has(key) && at(key).is_string() && at(key).get_ref<const std::string&>() == value;
}

bool HfFields::is_negative(std::string_view key) const {
  return has(key) && at(key).is_number() && at(key).get<double>() < 0;
}

std::int64_t HfFields::number(std::string_view key, std::int64_t low, std::int64_t absent) {
  if (!has(key)) return absent;
  const json& value = at(key);
  const double as_real = value.is_number() ? value.get<double>() : -1;
  if (value.is_number_integer() && as_real >= static_cast<double>(low) &&
      as_real <= static_cast<double>(largest(key))) {
    return value.get<std::int64_t>();
  }
  complain(key, fmt::format("{}: found {}, expected an integer from {} to {}", key, shown(value), low, largest(key)));
  return std::max(low, absent);
}

std::int64_t HfFields::integer(std::string_view key) {
  if (has(key)) return number(key, 1, 1);
  complain(key, fmt::format("{}: missing, expected an integer", key));
  return 1;
}

std::int64_t HfFields::integer(std::string_view key, std::int64_t absent) { return number(key, 1, absent); }

std::int64_t HfFields::count(std::string_view key, std::int64_t absent) { return number(key, 0, absent); }

std::int64_t HfFields::integer(std::initializer_list<std::string_view> keys) {
  for (const std::string_view key : keys) {
    if (has(key)) return integer(key);
  }
  complain(*keys.begin(), fmt::format("{}: missing, expected an integer", *keys.begin()));
  return 1;
}

std::int64_t HfFields::integer(std::initializer_list<std::string_view> keys, std::int64_t absent) {
  for (const std::string_view key : keys) {
    if (has(key)) return integer(key);
  }
  return absent;
}

bool HfFields::boolean(std::string_view key, bool absent) {
  if (!has(key)) return absent;
  if (at(key).is_boolean()) return at(key).get<bool>();
  complain(key, fmt::format("{}: found {}, expected true or false", key, shown(at(key))));
  return absent;
}

double HfFields::real(std::string_view key, double absent) {
  if (!has(key)) return absent;
  const double value = at(key).is_number() ? at(key).get<double>() : -1;
  if (value > 0 && value <= kLargestReal) return value;
  complain(key, fmt::format("{}: found {}, expected a positive number", key, shown(at(key))));
  return absent;
}

std::optional<std::string> HfFields::text(std::string_view key) {
  if (!has(key)) return std::nullopt;
  if (at(key).is_string()) return at(key).get<std::string>();
  complain(key, fmt::format("{}: found {}, expected a string", key, shown(at(key))));
  return std::nullopt;
}

std::vector<std::int64_t> HfFields::integers(std::string_view key) {
  std::vector<std::int64_t> list;
  if (!has(key)) return list;
  const auto fits = [](const json& value) {
    return value.is_number_integer() && value.get<double>() >= 0 && value.get<double>() <= 1e9;
  };
  if (at(key).is_array() && std::all_of(at(key).begin(), at(key).end(), fits)) {
    for (const json& value : at(key)) list.push_back(value.get<std::int64_t>());
    return list;
  }
  complain(key, fmt::format("{}: found {}, expected a list of integers of 0 or more", key, shown(at(key))));
  return list;
}

std::vector<std::string> HfFields::texts(std::string_view key) {
  std::vector<std::string> list;
  if (!has(key)) return list;
  const auto fits = [](const json& value) { return value.is_string(); };
  if (at(key).is_array() && std::all_of(at(key).begin(), at(key).end(), fits)) {
    for (const json& value : at(key)) list.push_back(value.get<std::string>());
    return list;
  }
  complain(key, fmt::format("{}: found {}, expected a list of names", key, shown(at(key))));
  return list;
}

std::optional<HfFields> HfFields::object(std::string_view key) {
  if (!has(key)) return std::nullopt;
  if (at(key).is_object()) {
    return HfFields(at(key), text_, *file_, *diagnostics_, std::min(find_key(text_, from_, key).value, text_.size()));
  }
  complain(key, fmt::format("{}: found {}, expected an object", key, shown(at(key))));
  return std::nullopt;
}

std::vector<HfFields> HfFields::objects(std::string_view key) {
  std::vector<HfFields> list;
  if (!has(key)) return list;
  const auto fits = [](const json& value) { return value.is_object(); };
  if (at(key).is_array() && std::all_of(at(key).begin(), at(key).end(), fits)) {
    for (const json& value : at(key)) list.emplace_back(value, text_, *file_, *diagnostics_, text_.size());
    return list;
  }
  complain(key, fmt::format("{}: found {}, expected a list of objects", key, shown(at(key))));
  return list;
}

std::vector<HfFields> HfFields::members(std::string_view key) {
  std::vector<HfFields> list;
  if (std::optional<HfFields> whole = object(key)) {
    for (const auto& [name, value] : at(key).items()) {
      if (std::optional<HfFields> member = whole->object(name)) list.push_back(*member);
    }
  }
  return list;
}

// Of a key; of the nested object that lacks it, or nothing where that is the whole file.
Place HfFields::place_of(std::string_view key) const {
  const std::size_t own = find_key(text_, from_, key).key;
  if (own != std::string_view::npos) return place_of_byte(text_, own, *file_);
  if (!object_->contains(std::string(key))) {
    return from_ == 0 || from_ >= text_.size() ? Place{*file_, 0, 0} : place_of_byte(text_, from_, *file_);
  }
  // An object in a list, or a field that stands outside of this object and holds for it too.
  const std::size_t somewhere = text_.find(fmt::format("\"{}\"", key));
  return somewhere == std::string_view::npos ? Place{*file_, 0, 0} : place_of_byte(text_, somewhere, *file_);
}

void HfFields::complain(std::string_view key, std::string message) {
  const Place place = place_of(key);
  // A field that is read twice is wrong once.
  const auto same = [&](const Diagnostic& d) { return d.place.line == place.line && d.message == message; };
  if (std::any_of(diagnostics_->list().begin(), diagnostics_->list().end(), same)) return;
  diagnostics_->add(place, std::move(message));
}

}  // namespace blockyard::model
