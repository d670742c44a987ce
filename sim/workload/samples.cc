#include "sim/workload/samples.h"

#include <string_view>
#include <utility>

#include "sim/base/diagnostics.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/formats/blockyard_csv.h"
#include "sim/workload/line_reader.h"

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

}  // namespace

std::unique_ptr<RequestSource> with_samples(std::unique_ptr<RequestSource> source, std::int32_t samples) {
  return std::make_unique<SamplesEdit>(std::move(source), samples);
}

bool trace_asks_samples(const std::string& path, const std::string& format) {
  if (path == "-" || (format != "auto" && format != "blockyard")) return false;
  try {
    LineReader lines(display_name(path), open_bytes(path));
    const Opening opening(lines);
    return is_blockyard_csv(opening) && has_samples_column(opening);
  } catch (const InputError&) {
    return false;  // open_trace will say what is wrong
  }
}

}  // namespace blockyard::workload
