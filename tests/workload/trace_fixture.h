// Trace files for tests, made in a folder that goes away with the fixture.
#pragma once

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/list_source.h"
#include "sim/workload/trace.h"

namespace blockyard::workload {

class TraceFolder {
 public:
  TraceFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "blockyard-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  TraceFolder(const TraceFolder&) = delete;
  TraceFolder& operator=(const TraceFolder&) = delete;
  ~TraceFolder() { std::filesystem::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] const std::filesystem::path& folder() const { return folder_; }

  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }
  // One gzip member for each text.
  std::string write_gzip(const std::string& name, const std::vector<std::string>& texts) const {
    std::filesystem::remove(path(name));
    for (const std::string& text : texts) {
      gzFile file = gzopen(path(name).c_str(), "ab");
      gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
      gzclose(file);
    }
    return path(name);
  }

 private:
  std::filesystem::path folder_;
};

inline std::string zstd_frame(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  return packed;
}

inline std::string file_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

struct ReadTrace {
  std::vector<Request> requests;
  ReadReport report;
};

inline ReadTrace read_trace(const std::string& path, const TraceOptions& options = {}) {
  const auto source = open_trace(path, options);
  ReadTrace read{read_all(*source), {}};
  read.report = source->report();
  return read;
}

inline ReadTrace read_text(std::string_view text, const TraceOptions& options = {}) {
  const TraceFolder folder;
  return read_trace(folder.write("trace", text), options);
}

// What the user is told, without the folder; "" when the text is read.
inline std::string error_of(std::string_view text, const TraceOptions& options = {}) {
  const TraceFolder folder;
  const std::string path = folder.write("trace", text);
  try {
    (void)read_trace(path, options);
  } catch (const InputError& error) {
    std::string told = error.what();
    for (std::size_t at = told.find(path); at != std::string::npos; at = told.find(path)) {
      told.replace(at, path.size(), "trace");
    }
    return told;
  }
  return "";
}

inline bool same(const Request& a, const Request& b) {
  return a.arrival == b.arrival && a.prompt_tokens == b.prompt_tokens && a.output_tokens == b.output_tokens &&
         a.max_tokens == b.max_tokens && a.priority == b.priority && a.tenant == b.tenant && a.session == b.session &&
         a.content == b.content && a.samples == b.samples;
}

inline bool same(const std::vector<Request>& a, const std::vector<Request>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Request& x, const Request& y) { return same(x, y); });
}

}  // namespace blockyard::workload
