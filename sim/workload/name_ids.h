// Names of a trace (sessions, tenants, groups of prompts) as dense numbers from 1, in order of first sight; "" is 0,
// none. Memory: the distinct names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace blockyard::workload {

class NameIds {
 public:
  std::uint32_t of(std::string_view name) {
    if (name.empty()) return 0;
    const auto found = ids_.find(name);
    if (found != ids_.end()) return found->second;
    const std::uint32_t id = static_cast<std::uint32_t>(ids_.size() + 1);
    ids_.emplace(std::string(name), id);
    return id;
  }
  [[nodiscard]] std::size_t size() const { return ids_.size(); }

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view name) const { return std::hash<std::string_view>{}(name); }
  };
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
};

}  // namespace blockyard::workload
