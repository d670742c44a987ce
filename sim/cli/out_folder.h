// --out: where files go, found out before the run, so that an hour's work does not end at a wrong path, nor on top of
// what it was read from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "sim/scenario/document.h"

namespace blockyard::cli {

// A folder for files of a run, made with those above it. Those it made go again with the object if nothing was put into
// them. Throws WriteError where it cannot be made or written to.
class OutFolder {
 public:
  explicit OutFolder(const std::string& path);
  OutFolder(const OutFolder&) = delete;
  OutFolder& operator=(const OutFolder&) = delete;
  ~OutFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void remove_made() const;

  std::filesystem::path path_;
  std::vector<std::filesystem::path> made_;  // the innermost first
};

// Variants' labels as names of folders, each its own: "strategy=paged, budget=60 GiB" ->
// "strategy=paged,budget=60_GiB". One that another variant has already gets a number; a very long one is cut.
[[nodiscard]] std::vector<std::string> folder_names(const std::vector<std::string>& labels);

using Paths = std::vector<std::filesystem::path>;

// The file of a scenario and the files that it names.
[[nodiscard]] Paths inputs_of(const std::filesystem::path& file, const scenario::Document& scenario);

// Throws InputError with `option` as its place if a file to be written is one that is read, by whatever name.
void refuse_inputs(const std::string& option, const Paths& written, const Paths& inputs);

}  // namespace blockyard::cli
