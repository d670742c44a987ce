// A file that is written beside its place under another name and put there by commit(). Without commit() (an exception)
// nothing of it is left. Text is gathered in one buffer and written a mebibyte at a time. What is no regular file (a
// pipe, a device, /dev/stdout) has no place to be put into: it is written to as text comes. A symbolic link stays, and
// what it names is replaced.
#pragma once

#include <fmt/format.h>

#include <filesystem>
#include <stdexcept>

namespace blockyard {

// A file cannot be written: no fault of what was read (exit 1).
class WriteError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class PendingFile {
 public:
  explicit PendingFile(const std::filesystem::path& path);  // throws WriteError where the file cannot be made
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  // Where text is appended. Call spill() now and then, so that it does not grow without bound.
  [[nodiscard]] fmt::memory_buffer& buffer() { return buffer_; }
  void spill() {
    if (buffer_.size() >= kSpillBytes) write_out();
  }

  void close();   // everything is written; throws WriteError if the disk is full and the like
  void commit();  // after close()

 private:
  static constexpr std::size_t kSpillBytes = std::size_t{1} << 20;

  void write_out();
  [[noreturn]] void fail(const char* what, int error) const;

  std::filesystem::path path_;
  std::filesystem::path partial_;  // empty: written to directly
  fmt::memory_buffer buffer_;
  int descriptor_ = -1;
  bool pending_ = false;  // the partial file exists
};

}  // namespace blockyard
