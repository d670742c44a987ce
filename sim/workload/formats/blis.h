// TraceV2 of BLIS (github.com/inference-sim/inference-sim): CSV of integers in us,
//   request_id,client_id,tenant_id,slo_class,[vllm_priority],session_id,round_index,prefix_group,prefix_length,...,
//   input_tokens,output_tokens,...,arrival_time_us,send_time_us,...,status,...,[think_time_us]
// and a YAML header, as a file of its own or above the CSV in the same file; there it may hold only the keys that
// TraceV2 has, and time_unit has to be microseconds. Rows arrive at arrival_time_us: send_time - arrival_time is the
// lag of the client that recorded them. prefix_group and prefix_length name a shared beginning, slo_class is the
// category, think_time_us the delay behind the answer before; rows whose status is an error have failed.
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_blis(const Opening& opening);
[[nodiscard]] bool has_blis_header(const Opening& opening);  // in YAML, above the columns
[[nodiscard]] std::unique_ptr<RowReader> open_blis(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
