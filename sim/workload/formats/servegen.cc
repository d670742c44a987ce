#include "sim/workload/formats/servegen.h"

#include <utility>

#include "sim/base/random.h"
#include "sim/workload/servegen_client.h"

namespace blockyard::workload {
namespace {

constexpr SimTime kWindow(600 * kNanosecondsPerSecond);  // of the published files; the last one's length is not written

class ServeGen final : public RowReader {
 public:
  explicit ServeGen(LineReader lines) : file_(lines.file()), client_(read_servegen_client(std::move(lines))) {}

  bool read(RowBatch& batch) override {
    batch.clear();
    while (batch.size < RowBatch::kLines) {
      if (!within_ || time_ >= end_) {
        if (!begin_window()) return batch.size > 0;
        continue;
      }
      const std::vector<ServeGenLengths>& lengths = client_.lengths;
      while (table_ + 1 < lengths.size() && lengths[table_ + 1].start <= time_) ++table_;
      TraceRow& row = batch.add();
      row.time_ns = time_.count();
      row.line = window().line;
      row.prompt_tokens = lengths[table_].prompt.draw(prompts_);
      row.output_tokens = lengths[table_].output.draw(outputs_);
      time_ += window().draw_gap(gaps_);
    }
    return true;
  }

  [[nodiscard]] const std::string& file() const override { return file_; }

 private:
  [[nodiscard]] const ServeGenWindow& window() const { return client_.windows[next_ - 1]; }

  // The next window that is not idle.
  bool begin_window() {
    const std::vector<ServeGenWindow>& windows = client_.windows;
    while (next_ < windows.size() && windows[next_].pattern == ServeGenWindow::Pattern::idle) ++next_;
    within_ = next_ < windows.size();
    if (!within_) return false;
    ++next_;
    end_ = next_ < windows.size() ? windows[next_].start : window().start + kWindow;
    time_ = window().start + window().draw_gap(gaps_);
    return true;
  }

  std::string file_;
  ServeGenClient client_;
  RandomStream gaps_{0, "servegen gaps"};
  RandomStream prompts_{0, "servegen prompts"};
  RandomStream outputs_{0, "servegen outputs"};
  std::size_t next_ = 0;  // window, behind the one that time_ is in
  bool within_ = false;
  SimTime time_;
  SimTime end_;
  std::size_t table_ = 0;
};

}  // namespace

bool is_servegen(const Opening& opening) { return is_servegen_window(opening.line()); }

std::unique_ptr<RowReader> open_servegen(LineReader lines, const ReaderOptions& /*options*/) {
  return std::make_unique<ServeGen>(std::move(lines));
}

}  // namespace blockyard::workload
