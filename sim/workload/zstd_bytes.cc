#include <fmt/format.h>
#include <zstd.h>

#include <utility>
#include <vector>

#include "sim/workload/byte_source.h"

namespace blockyard::workload {
namespace {

constexpr int kLargestWindowLog = 27;  // what zstd's own tool accepts unless told otherwise

class ZstdBytes final : public ByteSource {
 public:
  explicit ZstdBytes(std::unique_ptr<ByteSource> packed)
      : packed_(std::move(packed)), block_(ZSTD_DStreamInSize()), stream_(ZSTD_createDStream()) {
    if (stream_ == nullptr) throw BrokenInput("zstd: no memory");
    ZSTD_DCtx_setParameter(stream_.get(), ZSTD_d_windowLogMax, kLargestWindowLog);
  }

  std::size_t read(std::span<char> out) override {
    ZSTD_outBuffer unpacked{out.data(), out.size(), 0};
    while (unpacked.pos == 0) {
      if (in_.pos == in_.size && !may_hold_more_) {
        in_ = {block_.data(), packed_->read(block_), 0};
        if (in_.size == 0) {
          if (within_frame_) throw BrokenInput("the zstd file is truncated");
          return 0;
        }
      }
      const std::size_t left = ZSTD_decompressStream(stream_.get(), &unpacked, &in_);
      if (ZSTD_isError(left) != 0) {
        throw BrokenInput(fmt::format("the zstd file is damaged: {}", ZSTD_getErrorName(left)));
      }
      within_frame_ = left != 0;
      may_hold_more_ = unpacked.pos == unpacked.size;
    }
    return unpacked.pos;
  }

 private:
  struct Free {
    void operator()(ZSTD_DStream* stream) const { ZSTD_freeDStream(stream); }
  };

  std::unique_ptr<ByteSource> packed_;
  std::vector<char> block_;
  std::unique_ptr<ZSTD_DStream, Free> stream_;
  ZSTD_inBuffer in_{nullptr, 0, 0};
  bool within_frame_ = false;
  bool may_hold_more_ = false;  // the output was full: there may be more of it without further input
};

}  // namespace

std::unique_ptr<ByteSource> open_zstd(std::unique_ptr<ByteSource> packed) {
  return std::make_unique<ZstdBytes>(std::move(packed));
}

}  // namespace blockyard::workload
