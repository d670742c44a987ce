#include "sim/workload/formats/vidur.h"

#include <array>
#include <utility>

#include "sim/workload/csv_reader.h"

namespace blockyard::workload {
namespace {

constexpr std::array<CsvColumn, 3> kColumns{{{"arrived_at", CsvField::time, true},
                                             {"num_prefill_tokens", CsvField::prompt_tokens, true},
                                             {"num_decode_tokens", CsvField::output_tokens, true}}};
constexpr CsvLayout kLayout{kColumns, "arrived_at,num_prefill_tokens,num_decode_tokens", TimeForm::seconds};
constexpr CsvLayout kLengthsAlone{std::span(kColumns).subspan(1),
                                  "num_prefill_tokens,num_decode_tokens,num_total_tokens,pd_ratio", TimeForm::none};

}  // namespace

bool is_vidur(const Opening& opening) { return opening.has_columns({"num_prefill_tokens", "num_decode_tokens"}); }

std::unique_ptr<RowReader> open_vidur(LineReader lines, const ReaderOptions& options) {
  const bool lengths_alone = options.header && !Opening(lines).has_columns({"arrived_at"}) && is_vidur(Opening(lines));
  return open_csv(std::move(lines), options.header, lengths_alone ? kLengthsAlone : kLayout);
}

}  // namespace blockyard::workload
