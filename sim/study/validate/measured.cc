#include "sim/study/validate/measured.h"

#include <algorithm>
#include <cmath>

#include "sim/base/stable_order.h"
#include "sim/study/validate/measured_formats.h"
#include "sim/workload/byte_source.h"
#include "sim/workload/line_reader.h"

namespace blockyard::study {
namespace {

using Reader = void (*)(const std::string&, MeasuredRun&, Diagnostics&);

// Lines that end in CR alone are one to us, a header of many columns.
void refuse_cr_alone(const std::string& path, std::string_view line) {
  const std::size_t cr = line.find('\r');
  if (cr == std::string_view::npos || line.find_first_not_of('\r', cr) == std::string_view::npos) return;
  throw InputError(Place{path, 1, static_cast<int>(cr) + 1},
                   "the line ends in CR alone, expected LF or CRLF; `tr '\\r' '\\n'` makes it so");
}

// A JSON object over several lines, or with the arrays of a benchmark's result, is one result; else one request a line.
Reader reader_of(const std::string& path, std::string& format) {
  workload::LineReader lines(path, workload::open_bytes(path), std::size_t{1} << 30);
  const std::string_view first = lines.peek();
  const std::size_t start = first.find_first_not_of(" \t");
  if (start == std::string_view::npos) throw InputError(Place{path}, "an empty file, expected measured requests");
  if (first[start] != '{') {
    format = "csv";
    refuse_cr_alone(path, first);
    return read_measured_csv;
  }
  if (first.find("\"input_toks\"") != std::string_view::npos) {
    format = "llmservingsim";
    return read_llmservingsim;
  }
  format = "vllm-bench";
  return read_vllm_bench;
}

std::int64_t out_of_order(const std::vector<MeasuredRequest>& requests) {
  std::int64_t count = 0;
  SimTime latest = requests.front().arrival;
  for (const MeasuredRequest& r : requests) {
    if (r.arrival < latest) ++count;
    latest = std::max(latest, r.arrival);
  }
  return count;
}

void put_in_order(std::vector<MeasuredRequest>& requests) {
  sort_keeping_ties(requests, [](const MeasuredRequest& request) { return request.arrival; });
  const SimTime first = requests.front().arrival;
  for (MeasuredRequest& r : requests) r.arrival -= first;
}

// False: what the file says of it contradicts its other times, which are those that the simulated ones are told by.
bool settle_tpot(MeasuredRequest& r) {
  const std::int64_t gaps = r.output_tokens.count() - 1;
  if (gaps == 0) r.tpot_ns.reset();
  if (gaps == 0 || !r.ttft || !r.e2e) return true;
  const double implied = static_cast<double>((*r.e2e - *r.ttft).count()) / static_cast<double>(gaps);
  const bool agree = !r.tpot_ns || std::abs(*r.tpot_ns - implied) <= kTpotShare * implied + kTpotNs;
  if (!r.tpot_ns || !agree) r.tpot_ns = implied;
  return agree;
}

}  // namespace

bool MeasuredRun::tells_contents() const {
  return std::ranges::any_of(requests, [](const MeasuredRequest& r) { return !r.content.empty(); });
}

MeasuredRun read_measured(const std::string& path) {
  MeasuredRun run;
  MeasuredFile& file = run.file;
  file.name = path;
  Diagnostics errors;
  reader_of(path, file.format)(path, run, errors);
  errors.throw_if_any();
  if (run.requests.empty()) throw InputError(Place{path}, "no request that was served");
  file.out_of_order = out_of_order(run.requests);
  put_in_order(run.requests);
  for (MeasuredRequest& r : run.requests) {
    if (!settle_tpot(r)) ++file.other_tpot;
    if (!r.ttft && !r.tpot_ns && !r.e2e) ++file.untimed;
  }
  return run;
}

}  // namespace blockyard::study
