#include "sim/workload/row_writer.h"

#include <simdjson.h>

#include <iterator>

#include "sim/base/check.h"
#include "sim/base/decimal.h"

namespace blockyard::workload {
namespace {

constexpr int kSeconds = 9;  // places that ns have in each unit
constexpr int kMilliseconds = 6;

template <class... Values>
void append(fmt::memory_buffer& out, fmt::format_string<const Values&...> text, const Values&... values) {
  fmt::format_to(std::back_inserter(out), text, values...);
}

}  // namespace

void RowWriter::header(fmt::memory_buffer& out) const {
  if (form_.layout == RowLayout::vidur) append(out, "arrived_at,num_prefill_tokens,num_decode_tokens\n");
  if (form_.layout != RowLayout::blockyard_csv) return;
  append(out, "arrival_s,prompt_tokens,output_tokens");
  const auto column = [&](FieldSet field, const char* names) {
    if ((form_.says & field) != 0) append(out, ",{}", names);
  };
  column(fields::kMaxTokens, "max_tokens");
  column(fields::kPriority, "priority");
  column(fields::kTenant, "tenant");
  column(fields::kSession, "session");
  column(fields::kBeginning, "prefix_id,prefix_tokens");
  column(fields::kReuse, "reused_tokens");
  column(fields::kDelay, "delay_s");
  column(fields::kCategory, "category");
  column(fields::kSamples, "n");
  append(out, "\n");
}

void RowWriter::row(fmt::memory_buffer& out, Request request) {
  CHECK_LAW(request.arrival >= SimTime(0), "arrival {} ns", request.arrival.count());
  if (names_ != nullptr) {
    request.session = names_->name(KeyedIds::Kind::session, request.session);
    request.tenant = names_->name(KeyedIds::Kind::tenant, request.tenant);
    request.prefix = names_->name(KeyedIds::Kind::prefix, request.prefix);
  }
  switch (form_.layout) {
    case RowLayout::blockyard_csv:
      csv_row(out, request);
      break;
    case RowLayout::blockyard_jsonl:
      own_json_row(out, request);
      break;
    case RowLayout::mooncake:
      mooncake_row(out, request);
      break;
    case RowLayout::vidur:
      append_decimal(out, request.arrival.count(), kSeconds);
      append(out, ",{},{}\n", request.prompt_tokens.count(), request.output_tokens.count());
      break;
  }
}

// In quotes; a quote or a line end inside has no place in either of our formats, and nor have bytes that are no UTF-8.
std::string RowWriter::category_of(const Request& request) const {
  constexpr unsigned char kFirstBeyondAscii = 0x80;
  std::string name = read_.categories.at(request.category);
  const bool is_utf8 = simdjson::validate_utf8(name);
  for (char& c : name) {
    const unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\' || byte < ' ' || (byte >= kFirstBeyondAscii && !is_utf8)) c = '_';
  }
  return name;
}

void RowWriter::csv_row(fmt::memory_buffer& out, const Request& request) const {
  const auto number = [&](FieldSet field, std::int64_t value) {
    if ((form_.says & field) != 0) append(out, ",{}", value);
  };
  append_decimal(out, request.arrival.count(), kSeconds);
  append(out, ",{},{}", request.prompt_tokens.count(), request.output_tokens.count());
  number(fields::kMaxTokens, request.max_tokens.count());
  number(fields::kPriority, request.priority);
  number(fields::kTenant, request.tenant);
  number(fields::kSession, request.session);
  number(fields::kBeginning, request.prefix);
  number(fields::kBeginning, request.prefix_tokens);
  if ((form_.says & fields::kReuse) != 0) {
    append(out, ",");
    if (request.reused_tokens != kWholeSession) append(out, "{}", request.reused_tokens);
  }
  if ((form_.says & fields::kDelay) != 0) {
    append(out, ",");
    if (request.delay >= SimTime(0)) append_decimal(out, request.delay.count(), kSeconds);
  }
  if ((form_.says & fields::kCategory) != 0) {
    append(out, ",");
    if (request.category != 0) append(out, "\"{}\"", category_of(request));
  }
  number(fields::kSamples, request.samples);
  append(out, "\n");
}

void RowWriter::own_json_row(fmt::memory_buffer& out, const Request& request) {
  const FieldSet told = fields_of(request) & form_.says;
  const auto number = [&](FieldSet field, const char* key, std::int64_t value) {
    if ((told & field) != 0) append(out, ", \"{}\": {}", key, value);
  };
  append(out, "{{\"arrival_s\": ");
  append_decimal(out, request.arrival.count(), kSeconds);
  append(out, ", \"prompt_tokens\": {}, \"output_tokens\": {}", request.prompt_tokens.count(),
         request.output_tokens.count());
  // The first record's keys tell whether any request of the trace may ask for several (samples.h).
  if ((form_.says & fields::kSamples) != 0) append(out, ", \"n\": {}", request.samples);
  number(fields::kMaxTokens, "max_tokens", request.max_tokens.count());
  number(fields::kPriority, "priority", request.priority);
  number(fields::kTenant, "tenant", request.tenant);
  number(fields::kSession, "session", request.session);
  number(fields::kBeginning, "prefix_id", request.prefix);
  number(fields::kBeginning, "prefix_tokens", request.prefix_tokens);
  number(fields::kReuse, "reused_tokens", request.reused_tokens);
  if ((told & fields::kDelay) != 0) {
    append(out, ", \"delay_s\": ");
    append_decimal(out, request.delay.count(), kSeconds);
  }
  if ((told & fields::kCategory) != 0) append(out, ", \"category\": \"{}\"", category_of(request));
  if ((told & fields::kIds) != 0) {
    append(out, ", \"block_tokens\": {}", block().count());
    append_ids(out, request);
  }
  append(out, "}}\n");
}

// vLLM's reader wants ids on every row and knows no sessions.
void RowWriter::mooncake_row(fmt::memory_buffer& out, const Request& request) {
  const FieldSet told = fields_of(request) & form_.says;
  append(out, "{{\"timestamp\": ");
  append_decimal(out, request.arrival.count(), kMilliseconds);
  append(out, ", \"input_length\": {}, \"output_length\": {}", request.prompt_tokens.count(),
         request.output_tokens.count());
  if ((told & fields::kSession) != 0) append(out, ", \"session_id\": {}", request.session);
  if ((told & fields::kDelay) != 0) {
    append(out, ", \"delay\": ");
    append_decimal(out, request.delay.count(), kMilliseconds);
  }
  if ((told & fields::kPriority) != 0) append(out, ", \"priority\": {}", request.priority);
  const bool has_sessions = (form_.says & fields::kSession) != 0;
  if (!has_sessions || (told & (fields::kIds | fields::kBeginning)) != 0) append_ids(out, request);
  append(out, "}}\n");
}

void RowWriter::append_ids(fmt::memory_buffer& out, const Request& request) {
  // Beginnings are 2^28 tokens apart, beyond what ids of blocks can reach (content_store.h).
  constexpr std::int64_t kBeginnings = std::int64_t{1} << 61;
  content_.clear();
  if (request.content != ContentId::none) {
    content_ = contents_.at(request.content);
  } else if (request.prefix_tokens > 0) {
    append_run(content_, {kBeginnings + (static_cast<std::int64_t>(request.prefix) << 28), request.prefix_tokens});
  }
  ids_.clear();
  if (!blocks_) blocks_.emplace(block());
  blocks_->append(content_, request.prompt_tokens, ids_);
  append(out, ", \"hash_ids\": [");
  for (std::size_t i = 0; i < ids_.size(); ++i) {
    const std::int64_t id = names_ == nullptr ? ids_[i] : names_->block(ids_[i]);
    append(out, "{}{}", i == 0 ? "" : ", ", id);
  }
  append(out, "]");
}

}  // namespace blockyard::workload
