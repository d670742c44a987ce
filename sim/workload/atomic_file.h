// A text file that appears whole or not at all: written beside its place under another name, renamed by commit().
// Without commit() (an exception, an interruption) nothing is left behind.
#pragma once

#include <string>
#include <string_view>

namespace blockyard::workload {

class AtomicFile {
 public:
  explicit AtomicFile(std::string path);  // throws InputError where the file cannot be made
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::string_view text);  // throws InputError on a full disk and the like
  void commit();

 private:
  void flush();
  [[noreturn]] void fail(const char* what);

  std::string path_;
  std::string partial_;
  std::string buffer_;
  int descriptor_ = -1;
};

}  // namespace blockyard::workload
