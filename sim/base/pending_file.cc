#include "sim/base/pending_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include "sim/base/diagnostics.h"

namespace blockyard {

PendingFile::PendingFile(std::filesystem::path path) : path_(std::move(path)), partial_(path_) {
  // Found out now rather than when the other files are in place already.
  if (std::error_code ignored; std::filesystem::is_directory(path_, ignored)) fail("written", EISDIR);
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
  throw InputError(Place{path_.string()}, fmt::format("cannot be {}: {}", what, std::strerror(error)));
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
  if (std::rename(partial_.c_str(), path_.c_str()) != 0) fail("put in place", errno);
  pending_ = false;
}

}  // namespace blockyard
