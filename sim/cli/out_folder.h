// --out: the folder for the files of a run, made and tried before the run, so that an hour's work does not end at a
// wrong path.
#pragma once

#include <filesystem>
#include <string>

namespace blockyard::cli {

// Makes the folder, and those above it. Throws InputError (place: --out) if it cannot be made or written to.
std::filesystem::path prepare_out_folder(const std::string& path);

// A variant's label as the name of a folder: "strategy=paged, budget=60 GiB" -> "strategy=paged,budget=60_GiB".
[[nodiscard]] std::string folder_name(const std::string& label);

}  // namespace blockyard::cli
