#include "sim/workload/formats/servegen.h"

#include <utility>

#include "sim/workload/servegen_client.h"

namespace blockyard::workload {
namespace {

class ServeGen final : public RowReader {
 public:
  explicit ServeGen(LineReader lines) : file_(lines.file()), requests_(read_servegen_client(std::move(lines))) {}

  bool read(RowBatch& batch) override {
    batch.clear();
    while (batch.size < RowBatch::kLines) {
      const auto drawn = requests_.next();
      if (!drawn) return batch.size > 0;
      TraceRow& row = batch.add();
      row.time_ns = drawn->time.count();
      row.line = drawn->line;
      row.prompt_tokens = drawn->prompt_tokens;
      row.output_tokens = drawn->output_tokens;
    }
    return true;
  }

  [[nodiscard]] const std::string& file() const override { return file_; }

 private:
  std::string file_;
  ServeGenRequests requests_;
};

}  // namespace

bool is_servegen(const Opening& opening) { return is_servegen_window(opening.line()); }

std::unique_ptr<RowReader> open_servegen(LineReader lines, const ReaderOptions& /*options*/) {
  return std::make_unique<ServeGen>(std::move(lines));
}

}  // namespace blockyard::workload
