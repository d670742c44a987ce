#include "sim/workload/samples.h"

#include <fmt/format.h>

#include <utility>

#include "sim/base/diagnostics.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/trace_formats.h"

namespace blockyard::workload {
namespace {

class SamplesEdit final : public RequestSource {
 public:
  SamplesEdit(std::unique_ptr<RequestSource> source, std::int32_t samples)
      : source_(std::move(source)), samples_(samples) {}

  std::size_t read(std::span<Request> out) override {
    const std::size_t count = source_->read(out);
    for (Request& request : out.first(count)) request.samples = samples_;
    return count;
  }

 private:
  std::unique_ptr<RequestSource> source_;
  std::int32_t samples_;
};

class OneSample final : public RequestSource {
 public:
  explicit OneSample(std::unique_ptr<RequestSource> source) : source_(std::move(source)) {}

  std::size_t read(std::span<Request> out) override {
    const std::size_t count = source_->read(out);
    for (const Request& request : out.first(count)) {
      if (request.samples == 1) continue;
      throw InputError({},
                       fmt::format("a request asks for n = {} samples, which the beginning of the trace does not tell: "
                                   "give n in its first record, or workload.n for all",
                                   request.samples));
    }
    return count;
  }

 private:
  std::unique_ptr<RequestSource> source_;
};

class EachSample final : public RequestSource {
 public:
  EachSample(std::unique_ptr<RequestSource> source, ContentStore* contents)
      : source_(std::move(source)), contents_(contents) {}

  std::size_t read(std::span<Request> out) override {
    std::size_t count = 0;
    while (count < out.size()) {
      if (left_ == 0 && source_->read({&current_, 1}) == 0) break;
      const bool first = left_ == 0;
      if (first) left_ = current_.samples;
      out[count] = current_;
      out[count].samples = 1;
      // Each gives back its own when it ends.
      if (!first && current_.content != ContentId::none) out[count].content = contents_->put(content_);
      if (first && current_.content != ContentId::none) content_ = contents_->at(current_.content);
      ++count;
      --left_;
    }
    return count;
  }

 private:
  std::unique_ptr<RequestSource> source_;
  ContentStore* contents_;
  Request current_;
  Content content_;  // of current_
  std::int32_t left_ = 0;
};

}  // namespace

std::unique_ptr<RequestSource> request_of_each_sample(std::unique_ptr<RequestSource> source, ContentStore* contents) {
  return std::make_unique<EachSample>(std::move(source), contents);
}

std::unique_ptr<RequestSource> with_samples(std::unique_ptr<RequestSource> source, std::int32_t samples) {
  return std::make_unique<SamplesEdit>(std::move(source), samples);
}

std::unique_ptr<RequestSource> expect_one_sample(std::unique_ptr<RequestSource> source) {
  return std::make_unique<OneSample>(std::move(source));
}

}  // namespace blockyard::workload
