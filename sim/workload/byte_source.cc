#include "sim/workload/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/diagnostics.h"

namespace blockyard::workload {
namespace {

constexpr std::size_t kMagicBytes = 4;

bool is_gzip(std::span<const char> head) {
  return head.size() >= 2 && head[0] == '\x1f' && head[1] == static_cast<char>(0x8b);
}

// A frame, or a frame to be skipped (28 b5 2f fd, 5? 2a 4d 18).
bool is_zstd(std::span<const char> head) {
  if (head.size() < kMagicBytes) return false;
  const std::string_view bytes(head.data(), head.size());
  return bytes == "\x28\xb5\x2f\xfd" || ((bytes[0] & '\xf0') == '\x50' && bytes.substr(1) == "\x2a\x4d\x18");
}

// An open file whose first bytes can be looked at, also on a pipe.
class FileBytes final : public ByteSource {
 public:
  FileBytes(int descriptor, bool owned) : descriptor_(descriptor), owned_(owned) {}
  FileBytes(const FileBytes&) = delete;
  FileBytes& operator=(const FileBytes&) = delete;
  ~FileBytes() override {
    if (owned_) ::close(descriptor_);
  }

  std::span<const char> head() {
    while (head_size_ < kMagicBytes) {
      const std::size_t count = read_file(std::span(head_).subspan(head_size_));
      if (count == 0) break;
      head_size_ += count;
    }
    return std::span(head_).first(head_size_);
  }

  std::size_t read(std::span<char> out) override {
    if (head_given_ == head_size_) return read_file(out);
    const std::size_t count = std::min(out.size(), head_size_ - head_given_);
    std::copy_n(head_.begin() + static_cast<std::ptrdiff_t>(head_given_), count, out.begin());
    head_given_ += count;
    return count;
  }

 private:
  std::size_t read_file(std::span<char> out) const {
    const ssize_t count = ::read(descriptor_, out.data(), out.size());
    if (count >= 0) return static_cast<std::size_t>(count);
    if (errno == EINTR) throw ReadInterrupted();
    throw BrokenInput(fmt::format("cannot be read: {}", std::strerror(errno)));
  }

  int descriptor_;
  bool owned_;
  std::array<char, kMagicBytes> head_{};
  std::size_t head_size_ = 0;
  std::size_t head_given_ = 0;
};

// Members of a gzip file, one after the other (RFC 1952, 2.2); zlib checks each one's CRC and length.
class GzipBytes final : public ByteSource {
 public:
  explicit GzipBytes(std::unique_ptr<ByteSource> packed) : packed_(std::move(packed)), block_(std::size_t{1} << 17) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw BrokenInput("gzip: zlib does not start");
  }
  GzipBytes(const GzipBytes&) = delete;
  GzipBytes& operator=(const GzipBytes&) = delete;
  ~GzipBytes() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> out) override {
    const std::size_t wanted = std::min<std::size_t>(out.size(), 1U << 30);
    stream_.next_out = reinterpret_cast<Bytef*>(out.data());
    stream_.avail_out = static_cast<uInt>(wanted);
    while (!ended_ && stream_.avail_out == wanted) inflate_some();
    return wanted - stream_.avail_out;
  }

 private:
  void inflate_some() {
    if (stream_.avail_in == 0) fetch();
    if (!in_member_) {
      next_member();
      if (ended_) return;
    }
    if (stream_.avail_in == 0) throw BrokenInput("the gzip file is truncated");
    const int result = inflate(&stream_, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      in_member_ = false;
    } else if (result != Z_OK) {
      throw BrokenInput(fmt::format("the gzip file is damaged: {}", stream_.msg != nullptr ? stream_.msg : "bad data"));
    }
  }

  void fetch() {
    const std::size_t count = packed_->read(block_);
    stream_.next_in = reinterpret_cast<Bytef*>(block_.data());
    stream_.avail_in = static_cast<uInt>(count);
  }

  // Between members: the end, the next member, or zeros that pad the file (tapes, block devices).
  void next_member() {
    while (stream_.avail_in > 0 && members_ > 0 && *stream_.next_in == 0) {
      ++stream_.next_in;
      if (--stream_.avail_in == 0) fetch();
    }
    if (stream_.avail_in == 0) {
      ended_ = true;
      return;
    }
    if (members_ > 0 && *stream_.next_in != 0x1f) throw BrokenInput("the gzip file has other bytes behind its end");
    inflateReset(&stream_);
    in_member_ = true;
    ++members_;
  }

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> block_;
  z_stream stream_{};
  bool in_member_ = false;
  bool ended_ = false;
  int members_ = 0;
};

}  // namespace

std::string display_name(const std::string& path) { return path == "-" ? "<stdin>" : path; }

bool can_be_read_again(const std::string& path) {
  struct stat what{};
  return path != "-" && ::stat(path.c_str(), &what) == 0 && S_ISREG(what.st_mode);
}

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  const std::string name = display_name(path);
  std::unique_ptr<FileBytes> file;
  if (path == "-") {
    file = std::make_unique<FileBytes>(STDIN_FILENO, false);
  } else {
    const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 && errno == EINTR) throw ReadInterrupted();  // nobody had the other end of a FIFO open
    if (descriptor < 0) throw InputError({name}, fmt::format("cannot be opened: {}", std::strerror(errno)));
    file = std::make_unique<FileBytes>(descriptor, true);
    struct stat status{};
    if (::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode)) {
      throw InputError({name}, "is a directory, expected a trace file");
    }
  }
  try {
    if (is_gzip(file->head())) return std::make_unique<GzipBytes>(std::move(file));
    if (is_zstd(file->head())) return open_zstd(std::move(file));
  } catch (const BrokenInput& broken) {
    throw InputError({name}, broken.what());
  }
  return file;
}

}  // namespace blockyard::workload
