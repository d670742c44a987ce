#include "sim/cli/config_folder.h"

#include <fmt/format.h>

#include <system_error>

#include "sim/base/diagnostics.h"

namespace blockyard::cli {

namespace fs = std::filesystem;

fs::path config_folder() {
  fs::path built_with = BLOCKYARD_CONFIG_DIR;
  if (fs::is_directory(built_with / "models")) return built_with;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  const fs::path beside = program.parent_path().parent_path().parent_path() / "configs";
  if (!error && fs::is_directory(beside / "models")) return beside;
  throw InputError({"blockyard", 0, 0}, fmt::format("no catalogue of models and GPUs: neither {} nor {} is there",
                                                    built_with.string(), beside.string()));
}

}  // namespace blockyard::cli
