#include "sim/workload/line_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockyard::workload {
namespace {

constexpr std::size_t kBlock = std::size_t{1} << 18;

bool is_blank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

}  // namespace

LineReader::LineReader(std::string file, std::unique_ptr<ByteSource> bytes, std::size_t longest)
    : file_(std::move(file)), bytes_(std::move(bytes)), longest_(longest), buffer_(kBlock + kPadding) {
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  while (end_ < kByteOrderMark.size() && refill()) {
  }
  if (std::string_view(buffer_.data(), clean_).starts_with(kByteOrderMark)) begin_ = kByteOrderMark.size();
}

bool LineReader::refill() {
  if (ended_) return false;
  if (clean_ < end_) throw InputError({file_, line_ + 1}, "a NUL byte: this is no text file, or a damaged one");
  if (end_ - begin_ > longest_) {
    throw InputError({file_, line_ + 1}, fmt::format("the line is longer than {} bytes", longest_));
  }
  // The unfinished line moves to the front; a longer one than the block doubles the buffer, up to the limit above.
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= begin_;
  clean_ = end_;
  begin_ = 0;
  if (buffer_.size() - kPadding - end_ < kBlock / 2) buffer_.resize(2 * buffer_.size());
  std::size_t count = 0;
  try {
    count = bytes_->read(std::span(buffer_).subspan(end_, buffer_.size() - kPadding - end_));
  } catch (const BrokenInput& broken) {
    const std::size_t lines = static_cast<std::size_t>(std::count(buffer_.data(), buffer_.data() + end_, '\n'));
    throw InputError({file_, line_ + 1 + static_cast<int>(lines)}, broken.what());
  }
  if (count == 0) {
    ended_ = true;
    return false;
  }
  const void* const nul = std::memchr(buffer_.data() + end_, '\0', count);
  end_ += count;
  clean_ = nul == nullptr ? end_ : static_cast<std::size_t>(static_cast<const char*>(nul) - buffer_.data());
  return true;
}

bool LineReader::next_across_blocks(std::string_view& line) {
  for (;;) {
    const std::size_t seen = clean_ - begin_;
    if (!refill()) {
      if (begin_ == end_) return false;
      take(line, end_ - begin_, 0);
      return true;
    }
    const char* const begin = buffer_.data() + begin_;
    const void* const end = std::memchr(begin + seen, '\n', clean_ - begin_ - seen);
    if (end == nullptr) continue;
    const std::size_t length = static_cast<std::size_t>(static_cast<const char*>(end) - begin);
    if (length > longest_) {
      throw InputError({file_, line_ + 1}, fmt::format("the line is longer than {} bytes", longest_));
    }
    take(line, length, 1);
    return true;
  }
}

std::string_view LineReader::peek() {
  std::size_t from = begin_;
  for (;;) {
    const char* const start = buffer_.data() + from;
    const void* const found = std::memchr(start, '\n', clean_ - from);
    if (found != nullptr) {
      std::string_view line(start, static_cast<std::size_t>(static_cast<const char*>(found) - start));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!is_blank(line)) return line;
      from = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data()) + 1;
      continue;
    }
    from -= begin_;
    if (!refill()) {
      from += begin_;
      std::string_view line(buffer_.data() + from, end_ - from);
      if (line.ends_with('\r')) line.remove_suffix(1);
      return is_blank(line) ? std::string_view() : line;
    }
  }
}

std::string_view LineReader::peek_bytes(std::size_t count) {
  (void)peek();
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  std::size_t from = begin_;
  while (from < clean_ && blank(buffer_[from])) ++from;
  while (clean_ - from < count) {
    from -= begin_;
    const bool more = clean_ == end_ && refill();
    from += begin_;
    if (!more) break;
  }
  return {buffer_.data() + from, std::min(count, clean_ - from)};
}

std::string_view LineReader::next_bytes() {
  if (begin_ == end_ && !refill()) return {};
  if (begin_ == clean_) (void)refill();  // says that there is a NUL byte
  const std::string_view bytes(buffer_.data() + begin_, clean_ - begin_);
  line_ += static_cast<int>(std::count(bytes.begin(), bytes.end(), '\n'));
  begin_ = clean_;
  return bytes;
}

}  // namespace blockyard::workload
