// YAML -> Document. Every error is found in one pass and thrown together as InputError, each with file:line:column:
// unknown keys (with the nearest name), duplicates, wrong kinds, missing or wrong units, values out of range, required
// keys that are missing, files that are not there. A syntax error hides the file's other errors. Later `sets` win over
// earlier ones and over the file; the file is validated nonetheless. The environment is not read. Cost: linear in the
// text, but for the nearest name of an unknown key (names at its level). `without`: a section at the top that is not
// read, of the file or of `sets`: it counts as given, and whatever stands in it is right.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "sim/scenario/document.h"
#include "sim/scenario/schema.h"

namespace blockyard::scenario {

// `sets`: assignments "engine.max_num_seqs=64", as --set gives them; "workload.generate.clients[0].share=3" sets a key
// of an item of a list. Their relative paths start in the current folder,
// those of the file in the file's folder.
[[nodiscard]] Document load(const std::filesystem::path& file, const Schema& schema,
                            std::span<const std::string> sets = {}, std::string_view without = {});

// The same from memory; `name` stands for the file in diagnostics, and relative paths start in `folder`.
[[nodiscard]] Document parse(std::string_view text, const std::string& name, const Schema& schema,
                             std::span<const std::string> sets = {}, const std::filesystem::path& folder = {},
                             std::string_view without = {});

}  // namespace blockyard::scenario
