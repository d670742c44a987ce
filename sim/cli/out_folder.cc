#include "sim/cli/out_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "sim/base/diagnostics.h"

namespace blockyard::cli {

namespace fs = std::filesystem;

fs::path prepare_out_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (!fs::is_directory(path)) {
    const std::string why = error ? error.message() : "it is no folder";
    throw InputError({"--out", 0, 0}, fmt::format("{}: cannot be made: {}", path, why));
  }
  if (access(path.c_str(), W_OK) != 0) {
    throw InputError({"--out", 0, 0}, fmt::format("{}: cannot be written to: {}", path, std::strerror(errno)));
  }
  return path;
}

std::string folder_name(const std::string& label) {
  std::string name;
  for (const char c : label) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("=.,-_", c) != nullptr;
    if (c == ' ' && name.ends_with(',')) continue;
    name += plain ? c : '_';
  }
  return name;
}

}  // namespace blockyard::cli
