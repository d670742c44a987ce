#include "sim/workload/formats/servegen.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/random.h"
#include "sim/workload/servegen_client.h"

namespace blockyard::workload {
namespace {

constexpr std::string_view kEnding = "-trace.csv";
constexpr SimTime kWindow(600 * kNanosecondsPerSecond);  // of the published files; the last one's length is not written

std::string dataset_of(const std::string& file) {
  if (!file.ends_with(kEnding)) {
    throw InputError({file}, fmt::format("a ServeGen client is named <chunk>{}, beside <chunk>-dataset.json", kEnding));
  }
  return file.substr(0, file.size() - kEnding.size()) + "-dataset.json";
}

class ServeGen final : public RowReader {
 public:
  explicit ServeGen(LineReader lines)
      : lines_(std::move(lines)), lengths_(read_servegen_lengths(dataset_of(lines_.file()))) {
    after_ = next_window();
  }

  bool read(RowBatch& batch) override {
    batch.clear();
    while (batch.size < RowBatch::kLines) {
      if (!window_ || time_ >= end_) {
        if (!begin_window()) return batch.size > 0;
        continue;
      }
      TraceRow& row = batch.add();
      row.time_ns = time_.count();
      row.line = line_;
      while (table_ + 1 < lengths_.size() && lengths_[table_ + 1].start <= time_) ++table_;
      row.prompt_tokens = lengths_[table_].prompt.draw(prompts_);
      row.output_tokens = lengths_[table_].output.draw(outputs_);
      time_ += window_->draw_gap(gaps_);
    }
    return true;
  }

  [[nodiscard]] const std::string& file() const override { return lines_.file(); }

 private:
  std::optional<ServeGenWindow> next_window() {
    std::string_view line;
    do {
      if (!lines_.next(line)) return std::nullopt;
    } while (line.empty());
    return parse_servegen_window(line, lines_.place(1));
  }

  // The next window that is not idle.
  bool begin_window() {
    do {
      window_ = std::exchange(after_, std::nullopt);
      if (!window_) return false;
      line_ = lines_.line_number();
      after_ = next_window();
      end_ = after_ ? after_->start : window_->start + kWindow;
      if (end_ <= window_->start)
        throw InputError(lines_.place(1), "the window begins no later than the one before it");
    } while (window_->pattern == ServeGenWindow::Pattern::idle);
    time_ = window_->start + window_->draw_gap(gaps_);
    return true;
  }

  LineReader lines_;
  std::vector<ServeGenLengths> lengths_;
  RandomStream gaps_{0, "servegen gaps"};
  RandomStream prompts_{0, "servegen prompts"};
  RandomStream outputs_{0, "servegen outputs"};
  std::optional<ServeGenWindow> window_;
  std::optional<ServeGenWindow> after_;
  SimTime time_;
  SimTime end_;
  int line_ = 0;
  std::size_t table_ = 0;
};

}  // namespace

bool is_servegen(const Opening& opening) { return is_servegen_window(opening.line()); }

std::unique_ptr<RowReader> open_servegen(LineReader lines, const ReaderOptions& /*options*/) {
  return std::make_unique<ServeGen>(std::move(lines));
}

}  // namespace blockyard::workload
