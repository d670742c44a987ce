// Blockyard's own trace format, written by write_trace.h.
//
//   file   := header line-end { row line-end }            line-end := LF (CRLF is read as well)
//   header := the names of the columns, in any order      row := as many fields, separated by commas
//
//   arrival_s      required  seconds, a decimal with up to 9 places (ns); only differences matter
//   prompt_tokens  required  whole number
//   output_tokens  required  whole number: what the request will really generate
//   max_tokens     optional  whole number: what it declared; empty or no column = output_tokens
//   priority       optional  32-bit whole number, smaller = more urgent; default 0
//   tenant         optional  whole number from 0 to 4294967295; default 0
//   session        optional  likewise; 0 = none. A prompt begins with all that its session has said before it
//   prefix_id      optional  likewise. Prompts with one prefix_id begin with the same prefix_tokens tokens
//   prefix_tokens  optional  whole number; default 0. More than the prompt has: the whole prompt
//   reused_tokens  optional  whole number: of what its session has said, the prompt repeats at most this; empty = all
//   delay_s        optional  seconds after the end of the session's request before it; empty = sent at arrival_s
//   category       optional  any word
//   n              optional  1 to 256, default 1: parallel samples (or beams), each of output_tokens tokens
//
// Example:
//   arrival_s,prompt_tokens,output_tokens,max_tokens
//   0,374,44,512
//   4.314489,396,109,512
#pragma once

#include <memory>

#include "sim/workload/line_reader.h"
#include "sim/workload/opening.h"
#include "sim/workload/row_reader.h"

namespace blockyard::workload {

[[nodiscard]] bool is_blockyard_csv(const Opening& opening);
// Has it a column by which prompts share content?
[[nodiscard]] bool has_content_columns(const Opening& opening);
[[nodiscard]] std::unique_ptr<RowReader> open_blockyard_csv(LineReader lines, const ReaderOptions& options);

}  // namespace blockyard::workload
