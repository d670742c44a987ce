// The bytes of a file, in big blocks: plain, gzip or zstd (recognised by their magic bytes 1f 8b, 28 b5 2f fd; several
// members or frames follow each other as one) or "-" for standard input. Memory is constant.
#pragma once

#include <cstddef>
#include <exception>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

namespace blockyard::workload {

// Reading broke off; whoever counts the lines turns this into an InputError with the place.
class BrokenInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A signal came while a read waited for bytes: the program has been asked to stop.
class ReadInterrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted while it waited for input"; }
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills the front of `out` (not empty); returns how many, 0 = the end. Throws BrokenInput.
  virtual std::size_t read(std::span<char> out) = 0;
};

// Throws InputError for a file that is missing, unreadable or a directory.
[[nodiscard]] std::unique_ptr<ByteSource> open_bytes(const std::string& path);

// Unpacks zstd frames, one after the other (RFC 8878); windows of more than 128 MiB are refused.
[[nodiscard]] std::unique_ptr<ByteSource> open_zstd(std::unique_ptr<ByteSource> packed);

// Whether another reading finds the same bytes: a file, not standard input, a pipe or a device.
[[nodiscard]] bool can_be_read_again(const std::string& path);

// How diagnostics call the file: its path, or "<stdin>".
[[nodiscard]] std::string display_name(const std::string& path);

}  // namespace blockyard::workload
