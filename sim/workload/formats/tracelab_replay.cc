#include "sim/workload/formats/tracelab_replay.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "sim/workload/csv_reader.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 6> kColumns{{{"arrival_time", CsvField::time, true},
                                             {"session_id", CsvField::session_name, true},
                                             {"prefix_len", CsvField::reused_tokens, true},
                                             {"input_len", CsvField::prompt_tokens, true},
                                             {"output_len", CsvField::output_tokens, true},
                                             {"tool_wait_after_ms", CsvField::delay, true}}};
constexpr CsvLayout kLayout{kColumns,
                            "session_id,arrival_time,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms",
                            TimeForm::milliseconds, TimeForm::milliseconds};
constexpr CsvLayout kWithoutTimes{std::span(kColumns).subspan(1),
                                  "session_id,round_idx,prefix_len,input_len,output_len,tool_wait_after_ms",
                                  TimeForm::none, TimeForm::milliseconds};

// Of each row of the file: the prompt whole, and the wait behind the row before it instead of its own.
class Rounds final : public RowReader {
 public:
  explicit Rounds(std::unique_ptr<RowReader> rows) : rows_(std::move(rows)) {}

  bool read(RowBatch& batch) override {
    const bool more = rows_->read(batch);
    for (std::size_t i = 0; i < batch.size; ++i) {
      TraceRow& row = batch.rows[i];
      const std::int64_t repeated = row.reused_tokens == kWholeSession ? 0 : row.reused_tokens;
      if (row.prompt_tokens >= 0) row.prompt_tokens += repeated;
      const std::int64_t wait_after = std::max<std::int64_t>(row.delay_ns, 0);
      const auto [session, is_first] = wait_after_.try_emplace(row.session, wait_after);
      row.delay_ns = is_first ? kAtArrival.count() : std::exchange(session->second, wait_after);
      row.timed = row.timed && is_first;
    }
    return more;
  }
  [[nodiscard]] const std::string& file() const override { return rows_->file(); }

 private:
  std::unique_ptr<RowReader> rows_;
  std::unordered_map<std::uint32_t, std::int64_t> wait_after_;  // by session: behind its last round, ns
};

}  // namespace

bool is_tracelab_replay(const Opening& opening) {
  return opening.has_columns({"session_id", "prefix_len", "input_len", "output_len", "tool_wait_after_ms"});
}

std::unique_ptr<RowReader> open_tracelab_replay(LineReader lines, const ReaderOptions& options) {
  const bool timed = !options.header || Opening(lines).has_columns({"arrival_time"});
  return std::make_unique<Rounds>(open_csv(std::move(lines), options.header, timed ? kLayout : kWithoutTimes));
}

}  // namespace blockyard::workload
