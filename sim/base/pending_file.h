// A file that is written beside its place under another name and put there by commit(). Without commit() (an exception)
// nothing of it is left. Text is gathered in one buffer and written a mebibyte at a time.
#pragma once

#include <fmt/format.h>

#include <filesystem>

namespace blockyard {

class PendingFile {
 public:
  explicit PendingFile(std::filesystem::path path);  // throws InputError where the file cannot be made
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;
  ~PendingFile();

  // Where text is appended. Call spill() now and then, so that it does not grow without bound.
  [[nodiscard]] fmt::memory_buffer& buffer() { return buffer_; }
  void spill() {
    if (buffer_.size() >= kSpillBytes) write_out();
  }

  void close();   // everything is written; throws InputError if the disk is full and the like
  void commit();  // after close()

 private:
  static constexpr std::size_t kSpillBytes = std::size_t{1} << 20;

  void write_out();
  [[noreturn]] void fail(const char* what, int error) const;

  std::filesystem::path path_;
  std::filesystem::path partial_;
  fmt::memory_buffer buffer_;
  int descriptor_ = -1;
  bool pending_ = false;  // the partial file exists
};

}  // namespace blockyard
