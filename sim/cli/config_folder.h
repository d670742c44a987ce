// Where the catalogue of models and GPUs is: the configs/ that the program was built with, or, where a checkout was
// moved, the configs/ two folders above the program (it stands in build/<preset>/).
#pragma once

#include <filesystem>

namespace blockyard::cli {

// Throws InputError if neither is there.
[[nodiscard]] std::filesystem::path config_folder();

}  // namespace blockyard::cli
