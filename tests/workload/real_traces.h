// The published traces, read where they are.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <string>

namespace blockyard::workload {

// The path of a published trace, or a printed line and "".
inline std::string real_trace(const std::string& name) {
  const std::string path = std::string(BLOCKYARD_DATA_DIR) + "/traces/" + name;
  if (std::filesystem::exists(path)) return path;
  fmt::print("test skipped: {} is not there\n", path);
  return "";
}

}  // namespace blockyard::workload
