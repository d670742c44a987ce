#include "sim/workload/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <utility>

#include "sim/base/diagnostics.h"

namespace blockyard::workload {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 16;

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), partial_(fmt::format("{}.partial-{}", path_, ::getpid())) {
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor_ < 0) throw InputError({path_}, fmt::format("cannot be written: {}", std::strerror(errno)));
  buffer_.reserve(kBuffer);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_.c_str());
}

void AtomicFile::fail(const char* what) {
  throw InputError({path_}, fmt::format("cannot be {}: {}", what, std::strerror(errno)));
}

void AtomicFile::write(std::string_view text) {
  if (buffer_.size() + text.size() > kBuffer) flush();
  buffer_ += text;
}

void AtomicFile::flush() {
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t count = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("written");
    done += static_cast<std::size_t>(count);
  }
  buffer_.clear();
}

void AtomicFile::commit() {
  flush();
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail("put in place");
  ::close(std::exchange(descriptor_, -1));
}

}  // namespace blockyard::workload
