// Lines of a byte stream: ends at LF or CRLF, the last one with or without; a UTF-8 byte order mark is skipped. Memory
// is bounded: a line longer than `longest` is an error, and so is a NUL byte (no text trace has one). A line is valid
// until the next call and has kPadding readable bytes behind it, as simdjson wants. O(1) a byte.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/byte_source.h"

namespace blockyard::workload {

class LineReader {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20;
  static constexpr std::size_t kPadding = 64;

  explicit LineReader(std::string file, std::unique_ptr<ByteSource> bytes, std::size_t longest = kLongestLine);

  // The next line, without its end; false at the end of the file. Throws InputError with the line's number.
  bool next(std::string_view& line) {
    const char* const begin = buffer_.data() + begin_;
    const void* const end = std::memchr(begin, '\n', clean_ - begin_);
    if (end == nullptr) [[unlikely]]
      return next_across_blocks(line);
    take(line, static_cast<std::size_t>(static_cast<const char*>(end) - begin), 1);
    return true;
  }
  // The first line of the file that is not blank, "" for an empty file; it stays to be read.
  std::string_view peek();
  // The first bytes from there on, as many as `count` if the file has them; they stay to be read. Only before next().
  std::string_view peek_bytes(std::size_t count);
  // All bytes at hand from the place reached, whatever their lines; "" at the end of the file. They are not split at
  // ends of lines, but those in them are counted: line_number() is then the line that the next byte stands in, less 1.
  std::string_view next_bytes();

  [[nodiscard]] int line_number() const { return line_; }  // of the line last given, from 1
  [[nodiscard]] const std::string& file() const { return file_; }
  [[nodiscard]] Place place(int column = 0) const { return {file_, line_, column}; }

 private:
  void take(std::string_view& line, std::size_t length, std::size_t newline) {
    const char* const begin = buffer_.data() + begin_;
    begin_ += length + newline;
    ++line_;
    line = {begin, length > 0 && begin[length - 1] == '\r' ? length - 1 : length};
  }
  bool next_across_blocks(std::string_view& line);
  bool refill();  // false: nothing more

  std::string file_;
  std::unique_ptr<ByteSource> bytes_;
  std::size_t longest_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  // first byte not yet given
  std::size_t clean_ = 0;  // bytes before this one are read and without NUL
  std::size_t end_ = 0;    // bytes read
  bool ended_ = false;
  int line_ = 0;
};

}  // namespace blockyard::workload
