#include "sim/cli/out_folder.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <set>
#include <system_error>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"

namespace blockyard::cli {

namespace fs = std::filesystem;

namespace {

std::string folder_name(const std::string& label) {
  constexpr std::size_t kLongest = 200;  // of a file system's 255
  std::string name;
  for (const char c : label) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || std::strchr("=.,-_", c) != nullptr;
    if (c == ' ' && name.ends_with(',')) continue;
    name += plain ? c : '_';
  }
  return name.substr(0, kLongest);
}

// Also those that items of lists name; of a folder, what is in it.
void add_files_of(const scenario::Document& document, Paths& files) {
  for (const scenario::Key& key : document.schema().keys()) {
    for (const scenario::Document& item : document.items(key.path)) add_files_of(item, files);
    if (document.is(key.path, scenario::Kind::file)) files.push_back(document.file(key.path));
    if (!document.is(key.path, scenario::Kind::path)) continue;
    const fs::path path = document.file(key.path);
    std::error_code error;
    files.push_back(path);
    for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) files.push_back(entry.path());
  }
}

}  // namespace

OutFolder::OutFolder(const std::string& path) : path_(path) {
  std::error_code error;
  fs::path at = fs::absolute(path_, error).lexically_normal();
  if (!at.has_filename()) at = at.parent_path();  // a/b/ is a/b
  for (; at.has_filename(); at = at.parent_path()) {
    std::error_code absent;
    if (fs::exists(fs::symlink_status(at, absent))) break;
    made_.push_back(at);
  }
  error.clear();
  fs::create_directories(path_, error);
  std::error_code ignored;
  if (!fs::is_directory(path_, ignored)) {
    const std::string why = error ? error.message() : "it is no folder";
    remove_made();
    throw WriteError(fmt::format("--out: {}: cannot be made: {}", path, why));
  }
  if (access(path.c_str(), W_OK) != 0) {
    throw WriteError(fmt::format("--out: {}: cannot be written to: {}", path, std::strerror(errno)));
  }
}

OutFolder::~OutFolder() { remove_made(); }

void OutFolder::remove_made() const {
  std::error_code not_empty;
  for (const fs::path& folder : made_) {
    fs::remove(folder, not_empty);
  }
}

std::vector<std::string> folder_names(const std::vector<std::string>& labels) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const std::string& label : labels) {
    const std::string name = folder_name(label);
    std::string own = name;
    for (int number = 2; !taken.insert(own).second; ++number) own = fmt::format("{}_{}", name, number);
    names.push_back(own);
  }
  return names;
}

Paths inputs_of(const fs::path& file, const scenario::Document& scenario) {
  // A copy, since a key that is looked at here is not used by the run.
  const scenario::Document looked_at = scenario;  // NOLINT(performance-unnecessary-copy-initialization)
  Paths inputs{file};
  add_files_of(looked_at, inputs);
  return inputs;
}

void refuse_inputs(const std::string& option, const Paths& written, const Paths& inputs) {
  for (const fs::path& out : written) {
    std::error_code error;
    if (!fs::is_regular_file(out, error)) continue;
    for (const fs::path& in : inputs) {
      if (!fs::equivalent(out, in, error)) continue;
      throw InputError({option, 0, 0},
                       fmt::format("{} is read here, and would be written over; name another", out.string()));
    }
  }
}

}  // namespace blockyard::cli
