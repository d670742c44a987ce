#include "sim/base/pending_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

namespace blockyard {

namespace fs = std::filesystem;

namespace {

// What is open already may be a regular file, and still has to be written where it is.
bool is_direct(const fs::path& path) {
  const std::string name = path.lexically_normal().string();
  if (name == "/dev/stdout" || name == "/dev/stderr" || name.starts_with("/dev/fd/") || name.starts_with("/proc/")) {
    return true;
  }
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

int open_direct(const fs::path& path) {
  const std::string name = path.lexically_normal().string();
  // Opened anew, a regular file behind it would be written from its beginning.
  if (name == "/dev/stdout") return ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
  if (name == "/dev/stderr") return ::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  return ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
}

fs::path behind_links(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error)) return path;
  // Also one that names nothing yet.
  fs::path target = fs::weakly_canonical(path.parent_path() / fs::read_symlink(path, error), error);
  return error ? path : target;
}

}  // namespace

PendingFile::PendingFile(const fs::path& path) : path_(behind_links(path)) {
  // Found out now rather than when the other files are in place already.
  if (std::error_code ignored; fs::is_directory(path_, ignored)) fail("written", EISDIR);
  if (is_direct(path)) {
    path_ = path;
    descriptor_ = open_direct(path);
    if (descriptor_ < 0) fail("written", errno);
    return;
  }
  partial_ = path_;
  partial_ += fmt::format(".partial-{}", ::getpid());
  descriptor_ = ::open(partial_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail("written", errno);
  pending_ = true;
}

PendingFile::~PendingFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (pending_) ::unlink(partial_.c_str());
}

void PendingFile::fail(const char* what, int error) const {
  throw WriteError(fmt::format("{}: cannot be {}: {}", path_.string(), what, std::strerror(error)));
}

void PendingFile::write_out() {
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t count = ::write(descriptor_, buffer_.data() + done, buffer_.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("written", errno);
    done += static_cast<std::size_t>(count);
  }
  buffer_.clear();
}

void PendingFile::close() {
  write_out();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail("written", errno);
}

void PendingFile::commit() {
  if (!pending_) return;
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail("put in place", errno);
  pending_ = false;
}

}  // namespace blockyard
