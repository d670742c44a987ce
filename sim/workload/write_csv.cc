#include "sim/workload/write_csv.h"

#include <fmt/format.h>

#include <array>
#include <iterator>

#include "sim/base/check.h"
#include "sim/base/pending_file.h"

namespace blockyard::workload {
namespace {

// Exact decimal seconds without trailing zeros: 4314489000 ns = "4.314489".
void append_seconds(fmt::memory_buffer& out, SimTime time) {
  CHECK_LAW(time >= SimTime(0), "arrival {} ns", time.count());
  const std::int64_t fraction = time.count() % kNanosecondsPerSecond;
  fmt::format_to(std::back_inserter(out), "{}", time.count() / kNanosecondsPerSecond);
  if (fraction == 0) return;
  fmt::format_to(std::back_inserter(out), ".{:09}", fraction);
  std::size_t size = out.size();
  while (out[size - 1] == '0') --size;
  out.resize(size);
}

void check_lengths_only(const Request& request) {
  CHECK_LAW(
      request.max_tokens == request.output_tokens && request.priority == 0 && request.tenant == 0 &&
          request.session == 0 && request.prefix_tokens == 0,
      "max_tokens {}, output_tokens {}, priority {}, tenant {}, session {}, prefix_tokens {} do not fit three columns",
      request.max_tokens.count(), request.output_tokens.count(), request.priority, request.tenant, request.session,
      request.prefix_tokens);
}

void check_one_sample(const Request& request) {
  CHECK_LAW(request.samples == 1, "{} samples without a column for them", request.samples);
}

}  // namespace

void write_csv(RequestSource& source, const std::string& path, CsvColumns columns) {
  const bool all = columns != CsvColumns::lengths;
  const bool samples = columns == CsvColumns::all_and_n;
  PendingFile file(path);
  fmt::memory_buffer& text = file.buffer();
  const auto append = [&](std::string_view part) { text.append(part.data(), part.data() + part.size()); };
  append("arrival_s,prompt_tokens,output_tokens");
  if (all) append(",max_tokens,priority,tenant,session,prefix_id,prefix_tokens");
  append(samples ? ",n\n" : "\n");
  std::array<Request, 256> requests;
  while (const std::size_t count = source.read(requests)) {
    for (const Request& request : std::span(requests).first(count)) {
      CHECK_LAW(request.content == ContentId::none, "the format has no column for content");
      append_seconds(text, request.arrival);
      fmt::format_to(std::back_inserter(text), ",{},{}", request.prompt_tokens.count(), request.output_tokens.count());
      if (all) {
        fmt::format_to(std::back_inserter(text), ",{},{},{},{},{},{}", request.max_tokens.count(), request.priority,
                       request.tenant, request.session, request.prefix, request.prefix_tokens);
      } else {
        check_lengths_only(request);
      }
      if (samples) {
        fmt::format_to(std::back_inserter(text), ",{}", request.samples);
      } else {
        check_one_sample(request);
      }
      text.push_back('\n');
    }
    file.spill();
  }
  file.close();
  file.commit();
}

}  // namespace blockyard::workload
