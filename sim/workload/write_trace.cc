#include "sim/workload/write_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "sim/base/diagnostics.h"
#include "sim/base/pending_file.h"
#include "sim/workload/block_names.h"

namespace blockyard::workload {
namespace {

// What a request may tell beyond its time and lengths.
using Field = unsigned;
constexpr Field kMaxTokens = 1U << 0;
constexpr Field kPriority = 1U << 1;
constexpr Field kTenant = 1U << 2;
constexpr Field kSession = 1U << 3;
constexpr Field kReuse = 1U << 4;
constexpr Field kDelay = 1U << 5;
constexpr Field kBeginning = 1U << 6;
constexpr Field kIds = 1U << 7;
constexpr Field kCategory = 1U << 8;
constexpr Field kSamples = 1U << 9;  // only our own formats, where they are asked to
constexpr unsigned kAllButIds = kMaxTokens | kPriority | kTenant | kSession | kReuse | kDelay | kBeginning | kCategory;

struct FieldName {
  Field field;
  const char* name;
};
constexpr std::array kFieldNames{FieldName{kMaxTokens, "max_tokens"}, FieldName{kPriority, "priority"},
                                 FieldName{kTenant, "tenant"},        FieldName{kSession, "session"},
                                 FieldName{kReuse, "reused_tokens"},  FieldName{kDelay, "delay"},
                                 FieldName{kBeginning, "prefix"},     FieldName{kIds, "hash_ids"},
                                 FieldName{kCategory, "category"},    FieldName{kSamples, "n"}};

unsigned fields_of(const Request& request) {
  unsigned fields = 0;
  const auto set = [&](Field field, bool on) { fields |= on ? static_cast<unsigned>(field) : 0U; };
  set(kMaxTokens, request.max_tokens != request.output_tokens);
  set(kPriority, request.priority != 0);
  set(kTenant, request.tenant != 0);
  set(kSession, request.session != 0);
  set(kReuse, request.reused_tokens != kWholeSession);
  set(kDelay, request.delay >= SimTime(0));
  set(kBeginning, request.prefix_tokens > 0);
  set(kIds, request.content != ContentId::none);
  set(kCategory, request.category != 0);
  set(kSamples, request.samples != 1);
  return fields;
}

constexpr std::array kFormats{
    OutputFormat{"blockyard", "Blockyard's own CSV; all but ids of blocks", kAllButIds, Tokens(0)},
    OutputFormat{"blockyard-jsonl", "Blockyard's own JSON lines; ids of blocks too", kAllButIds | kIds, Tokens(0)},
    OutputFormat{"mooncake", "JSON lines; ids of 512-token blocks, sessions, delays",
                 kPriority | kSession | kDelay | kBeginning | kIds, Tokens(512)},
    OutputFormat{"vidur", "CSV; times and lengths alone", 0, Tokens(0)},
    OutputFormat{"vllm-timed", "JSON lines for vLLM's timed_trace; ids of 16-token blocks", kBeginning | kIds,
                 Tokens(16)},
};

const OutputFormat& format_named(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &OutputFormat::name);
  if (found != kFormats.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kFormats.size());
  for (const OutputFormat& format : kFormats) names.emplace_back(format.name);
  throw InputError({}, fmt::format("no trace is written as \"{}\", only as {}{}", name, fmt::join(names, ", "),
                                   did_you_mean(name, names)));
}

// ns in units of 10^places ns, exact and without trailing zeros: 4314489000 ns = "4.314489" s.
void append_decimal(fmt::memory_buffer& out, SimTime time, int places) {
  std::int64_t unit = 1;
  for (int i = 0; i < places; ++i) unit *= 10;
  fmt::format_to(std::back_inserter(out), "{}", time.count() / unit);
  const std::int64_t fraction = time.count() % unit;
  if (fraction == 0) return;
  fmt::format_to(std::back_inserter(out), ".{:0{}}", fraction, places);
  std::size_t size = out.size();
  while (out[size - 1] == '0') --size;
  out.resize(size);
}

class Writer {
 public:
  Writer(const OutputFormat& format, const OutputOptions& options, ContentStore& contents, const ReadReport& read)
      : format_(format), options_(options), contents_(contents), read_(read) {}

  void header(fmt::memory_buffer& out) const {
    if (format_.name == "blockyard") {
      append(out,
             "arrival_s,prompt_tokens,output_tokens,max_tokens,priority,tenant,session,prefix_id,prefix_tokens,"
             "reused_tokens,delay_s,category{}\n",
             options_.samples ? ",n" : "");
    } else if (format_.name == "vidur") {
      append(out, "arrived_at,num_prefill_tokens,num_decode_tokens\n");
    }
  }

  void row(fmt::memory_buffer& out, Request request) {
    if (options_.names != nullptr) {
      request.session = options_.names->name(KeyedIds::Kind::session, request.session);
      request.tenant = options_.names->name(KeyedIds::Kind::tenant, request.tenant);
      request.prefix = options_.names->name(KeyedIds::Kind::prefix, request.prefix);
    }
    if (format_.name == "blockyard") {
      csv_row(out, request);
    } else if (format_.name == "vidur") {
      append_decimal(out, request.arrival, 9);
      fmt::format_to(std::back_inserter(out), ",{},{}\n", request.prompt_tokens.count(), request.output_tokens.count());
    } else if (format_.name == "blockyard-jsonl") {
      own_json_row(out, request);
    } else {
      mooncake_row(out, request);
    }
  }

 private:
  template <class... Values>
  static void append(fmt::memory_buffer& out, fmt::format_string<const Values&...> text, const Values&... values) {
    fmt::format_to(std::back_inserter(out), text, values...);
  }

  // In quotes; a quote or a line end inside has no place in either of our formats.
  [[nodiscard]] std::string category_of(const Request& request) const {
    std::string name = read_.categories.at(request.category);
    for (char& c : name) {
      if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < ' ') c = '_';
    }
    return name;
  }

  void csv_row(fmt::memory_buffer& out, const Request& request) const {
    append_decimal(out, request.arrival, 9);
    append(out, ",{},{},{},{},{},{},{},{},", request.prompt_tokens.count(), request.output_tokens.count(),
           request.max_tokens.count(), request.priority, request.tenant, request.session, request.prefix,
           request.prefix_tokens);
    if (request.reused_tokens != kWholeSession) append(out, "{}", request.reused_tokens);
    append(out, ",");
    if (request.delay >= SimTime(0)) append_decimal(out, request.delay, 9);
    append(out, ",");
    if (request.category != 0) append(out, "\"{}\"", category_of(request));
    if (options_.samples) append(out, ",{}", request.samples);
    append(out, "\n");
  }

  void own_json_row(fmt::memory_buffer& out, const Request& request) {
    append(out, "{{\"arrival_s\": ");
    append_decimal(out, request.arrival, 9);
    append(out, ", \"prompt_tokens\": {}, \"output_tokens\": {}", request.prompt_tokens.count(),
           request.output_tokens.count());
    const unsigned fields = fields_of(request);
    const auto number = [&](Field field, const char* key, std::int64_t value) {
      if ((fields & field) != 0) append(out, ", \"{}\": {}", key, value);
    };
    number(kMaxTokens, "max_tokens", request.max_tokens.count());
    number(kPriority, "priority", request.priority);
    number(kTenant, "tenant", request.tenant);
    number(kSession, "session", request.session);
    number(kBeginning, "prefix_id", request.prefix);
    number(kBeginning, "prefix_tokens", request.prefix_tokens);
    number(kReuse, "reused_tokens", request.reused_tokens);
    if (options_.samples) append(out, ", \"n\": {}", request.samples);
    if ((fields & kDelay) != 0) {
      append(out, ", \"delay_s\": ");
      append_decimal(out, request.delay, 9);
    }
    if ((fields & kCategory) != 0) append(out, ", \"category\": \"{}\"", category_of(request));
    if ((fields & kIds) != 0) {
      append(out, ", \"block_tokens\": {}", block().count());
      ids(out, request);
    }
    append(out, "}}\n");
  }

  void mooncake_row(fmt::memory_buffer& out, const Request& request) {
    append(out, "{{\"timestamp\": ");
    append_decimal(out, request.arrival, 6);
    append(out, ", \"input_length\": {}, \"output_length\": {}", request.prompt_tokens.count(),
           request.output_tokens.count());
    const unsigned fields = fields_of(request);
    const bool always = format_.name == "vllm-timed";
    if (!always && (fields & kSession) != 0) append(out, ", \"session_id\": {}", request.session);
    if (!always && (fields & kDelay) != 0) {
      append(out, ", \"delay\": ");
      append_decimal(out, request.delay, 6);
    }
    if (!always && (fields & kPriority) != 0) append(out, ", \"priority\": {}", request.priority);
    if (always || (fields & (kIds | kBeginning)) != 0) ids(out, request);
    append(out, "}}\n");
  }

  // The trace says how large its blocks are in its first rows.
  [[nodiscard]] Tokens block() const { return format_.block == Tokens(0) ? Tokens(read_.hash_block) : format_.block; }

  void ids(fmt::memory_buffer& out, const Request& request) {
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
      const std::int64_t id = options_.names == nullptr ? ids_[i] : options_.names->block(ids_[i]);
      append(out, "{}{}", i == 0 ? "" : ", ", id);
    }
    append(out, "]");
  }

  const OutputFormat& format_;
  const OutputOptions& options_;
  ContentStore& contents_;
  const ReadReport& read_;
  std::optional<BlockNames> blocks_;
  Content content_;
  std::vector<std::int64_t> ids_;
};

}  // namespace

std::span<const OutputFormat> output_formats() { return kFormats; }

Written write_trace(RequestSource& source, ContentStore& contents, const std::string& path,
                    const OutputOptions& options, const ReadReport& read) {
  const OutputFormat& format = format_named(options.format);
  std::array<std::int64_t, kFieldNames.size()> lost{};
  Written written;
  const bool own = (format.says & kAllButIds) == kAllButIds;
  const unsigned says = format.says | (own && options.samples ? kSamples : 0U);
  PendingFile file(path);
  Writer writer(format, options, contents, read);
  writer.header(file.buffer());
  std::array<Request, 256> requests;
  while (const std::size_t count = source.read(requests)) {
    for (const Request& request : std::span(requests).first(count)) {
      const unsigned unsaid = fields_of(request) & ~says;
      for (std::size_t i = 0; i < lost.size() && unsaid != 0; ++i) {
        if ((unsaid & kFieldNames[i].field) != 0) ++lost[i];
      }
      writer.row(file.buffer(), request);
      if (request.content != ContentId::none) contents.drop(request.content);
      ++written.requests;
    }
    file.spill();
  }
  file.close();
  file.commit();
  for (std::size_t i = 0; i < lost.size(); ++i) {
    if (lost[i] > 0) written.lost.emplace_back(kFieldNames[i].name, lost[i]);
  }
  return written;
}

}  // namespace blockyard::workload
