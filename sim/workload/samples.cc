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

}  // namespace

std::unique_ptr<RequestSource> with_samples(std::unique_ptr<RequestSource> source, std::int32_t samples) {
  return std::make_unique<SamplesEdit>(std::move(source), samples);
}

std::unique_ptr<RequestSource> expect_one_sample(std::unique_ptr<RequestSource> source) {
  return std::make_unique<OneSample>(std::move(source));
}

bool trace_asks_samples(const std::string& path, const std::string& format) {
  if (path == "-") return false;
  try {
    LineReader lines(display_name(path), open_bytes(path));
    const std::string_view name = find_trace_format(format, lines).name;
    const Opening opening(lines);
    return (name == "blockyard" && opening.has_columns({"n"})) || (name == "blockyard-jsonl" && opening.has_key("n"));
  } catch (const InputError&) {
    return false;  // open_trace will say what is wrong
  }
}

}  // namespace blockyard::workload
