#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sim/study/validate/measured_formats.h"
#include "sim/workload/csv_fields.h"
#include "sim/workload/csv_table.h"
#include "sim/workload/numbers.h"
#include "sim/workload/row_reader.h"

namespace blockyard::study {
namespace {

enum Column {
  arrival_measured,
  arrival_planned,
  prompt,
  output,
  ttft,
  tpot,
  e2e,
  error,
  request,
  prompt_id,
  prefix_id,
  prefix_tokens,
  all_columns
};
constexpr std::array<std::string_view, all_columns> kNames{
    "arrival_measured_s", "arrival_s", "prompt_tokens", "output_tokens", "ttft_s", "tpot_s", "e2e_s", "error",
    "request_id",         "prompt_id", "prefix_id",     "prefix_tokens"};
constexpr Tokens kBlock{16};
// Token ids of prompts, of beginnings and of blocks, apart from each other; 2^28 tokens a prompt are enough.
constexpr std::int64_t kPromptTokens = std::int64_t{1} << 58;
constexpr std::int64_t kPrefixTokens = std::int64_t{1} << 59;
constexpr std::int64_t kMostIds = std::int64_t{1} << 29;

using workload::CsvTable;

using Blocks16 = std::unordered_map<std::int64_t, Content>;  // by request_id

// `x.blocks.csv` beside `x.csv`: the ids of each prompt's blocks, separated by spaces.
Blocks16 read_blocks(const std::string& path, MeasuredFile& file, Diagnostics& errors) {
  Blocks16 contents;
  const std::filesystem::path beside = std::filesystem::path(path).replace_extension(".blocks.csv");
  if (!std::filesystem::is_regular_file(beside)) return contents;
  file.blocks_file = beside.string();
  CsvTable table(file.blocks_file, errors);
  const auto id = table.column_of("request_id");
  const auto ids = table.column_of("block_ids");
  if (!id || !ids) {
    errors.add(Place{file.blocks_file, 1, 1}, "expected the columns request_id and block_ids");
    return contents;
  }
  table.refuse_another(*id);
  table.refuse_another(*ids);
  while (table.next()) {
    const auto request_number = table.number(*id, 0, 0, std::numeric_limits<std::int64_t>::max());
    if (!request_number) continue;
    Content& content = contents[*request_number];
    std::string_view rest = table.field(*ids);
    while (!(rest = workload::trimmed(rest)).empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(word.size());
      const workload::Decimal block = workload::parse_decimal(word, 0);
      if (block.fault != nullptr || !block.exact || block.value < 0 || block.value >= kMostIds * kMostIds / 16) {
        table.fault(*ids, fmt::format("found {}, expected ids of blocks", workload::quoted(word)));
        break;
      }
      append_run(content, {block.value * kBlock.count(), kBlock.count()});
    }
  }
  return contents;
}

void cut(Content& content, std::int64_t tokens) {
  Content kept;
  for (const TokenRun& run : content) {
    append_run(kept, {run.start, std::min(run.count, tokens)});
    tokens -= std::min(run.count, tokens);
  }
  content = std::move(kept);
}

// The columns that are read: those of a kind that another goes before are not among them.
struct Columns {
  std::array<std::optional<std::size_t>, all_columns> found;
  [[nodiscard]] bool has(Column c) const { return found[c].has_value(); }
  [[nodiscard]] std::size_t at(Column c) const { return *found[c]; }
  [[nodiscard]] Column arrival() const { return has(arrival_measured) ? arrival_measured : arrival_planned; }
};

std::optional<Columns> find_columns(CsvTable& table, const std::string& path, bool blocks, Diagnostics& errors) {
  Columns columns;
  for (std::size_t i = 0; i < all_columns; ++i) columns.found[i] = table.column_of(kNames[i]);
  const auto leave = [&](Column c) { columns.found[c].reset(); };
  if (columns.has(arrival_measured)) leave(arrival_planned);
  if (blocks) {
    for (const Column c : {prompt_id, prefix_id, prefix_tokens}) leave(c);
  } else {
    leave(request);
  }
  if (!columns.has(prefix_id)) leave(prefix_tokens);
  if (!columns.has(prefix_tokens)) leave(prefix_id);

  std::vector<std::string_view> missing;
  for (const Column c : {columns.arrival(), prompt, output}) {
    if (!columns.has(c)) missing.push_back(kNames[c]);
  }
  if (!columns.has(ttft) && !columns.has(e2e)) missing.emplace_back("ttft_s or e2e_s");
  for (const std::optional<std::size_t> column : columns.found) {
    if (column) table.refuse_another(*column);
  }
  if (missing.empty()) return columns;
  errors.add(Place{path, 1, 1}, fmt::format("measured requests need the column(s) {}; found: {}",
                                            fmt::join(missing, ", "), fmt::join(table.names(), ", ")));
  return std::nullopt;
}

SharedBy shared_by(const Columns& columns, bool blocks) {
  if (blocks) return SharedBy::blocks;
  if (columns.has(prefix_id)) return columns.has(prompt_id) ? SharedBy::prefix_and_prompt_id : SharedBy::prefix_id;
  return columns.has(prompt_id) ? SharedBy::prompt_id : SharedBy::nothing;
}

void tell_columns(const CsvTable& table, const Columns& columns, MeasuredFile& file) {
  for (std::size_t i = 0; i < table.names().size(); ++i) {
    const bool read = std::ranges::find(columns.found, std::optional(i)) != columns.found.end();
    (read ? file.read : file.not_read).push_back(table.names()[i]);
  }
}

class CsvRun {
 public:
  CsvRun(CsvTable& table, const Columns& columns, const Blocks16& blocks)
      : table_(&table), columns_(columns), blocks_(&blocks) {}

  // Of the row at hand; none if it is malformed, and if it was not served, which is counted.
  std::optional<MeasuredRequest> request_of_row(MeasuredFile& file) {
    if (failed()) {
      ++file.failed;
      return std::nullopt;
    }
    if (const std::string_view tokens = table_->field(columns_.at(output)); tokens.empty() || tokens == "0") {
      ++file.without_output;
      return std::nullopt;
    }
    const auto at = required(columns_.arrival(), 9);
    const auto in = required(prompt, 0);
    const auto out = required(output, 0);
    if (!at || !in || !out) return std::nullopt;
    if (*in == 0) {
      table_->fault(columns_.at(prompt), "found 0, expected tokens; a request that failed is told by the column error");
      return std::nullopt;
    }
    MeasuredRequest r;
    r.arrival = SimTime(*at);
    r.prompt_tokens = Tokens(*in);
    r.output_tokens = Tokens(*out);
    r.ttft = time(ttft);
    r.e2e = time(e2e);
    if (r.ttft && r.e2e && *r.ttft > *r.e2e) {
      table_->fault(columns_.at(ttft), "expected no more than e2e_s");
      return std::nullopt;
    }
    if (const auto mean = time(tpot)) r.tpot_ns = static_cast<double>(mean->count());
    r.content = content(r, file);
    return r;
  }

 private:
  [[nodiscard]] bool failed() const {
    if (!columns_.has(error)) return false;
    const std::string_view told = table_->field(columns_.at(error));
    constexpr std::array<std::string_view, 8> kNone{"", "0", "false", "False", "none", "None", "null", "nan"};
    return std::ranges::find(kNone, told) == kNone.end();
  }
  std::optional<std::int64_t> required(Column column, int power) {
    const std::int64_t most = power == 0 ? workload::kLongestLength : kNever.count() / 2;
    if (table_->field(columns_.at(column)).empty()) {
      table_->fault(columns_.at(column), "empty, expected a number");
      return std::nullopt;
    }
    return table_->number(columns_.at(column), power, 0, most);
  }
  std::optional<SimTime> time(Column column) {
    if (!columns_.has(column)) return std::nullopt;
    const auto ns = table_->number(columns_.at(column), 9, 0, kNever.count() / 2);
    return ns ? std::optional(SimTime(*ns)) : std::nullopt;
  }
  std::optional<std::int64_t> id(Column column, std::int64_t most) {
    return columns_.has(column) ? table_->number(columns_.at(column), 0, 0, most) : std::nullopt;
  }

  Content content(const MeasuredRequest& r, MeasuredFile& file) {
    Content said;
    if (!blocks_->empty()) {
      const auto number = id(request, std::numeric_limits<std::int64_t>::max());
      const auto found = number ? blocks_->find(*number) : blocks_->end();
      if (found != blocks_->end()) {
        said = found->second;
      } else if (number || table_->field(columns_.at(request)).empty()) {  // a malformed one is told already
        table_->fault(columns_.at(request), "expected a request that the file of blocks beside it names");
      }
    } else {
      std::int64_t begun = 0;
      const auto prefix = id(prefix_id, kMostIds);
      const auto length = id(prefix_tokens, workload::kLongestLength);
      if (prefix && length) {
        if (*length > r.prompt_tokens.count()) ++file.long_prefix;
        begun = std::min(*length, r.prompt_tokens.count());
        append_run(said, {kPrefixTokens + (*prefix << 28), begun});
      }
      if (const auto whole = id(prompt_id, kMostIds)) {
        append_run(said, {kPromptTokens + (*whole << 28) + begun, r.prompt_tokens.count() - begun});
      }
    }
    cut(said, r.prompt_tokens.count());
    return said;
  }

  CsvTable* table_;
  Columns columns_;
  const Blocks16* blocks_;
};

}  // namespace

void read_measured_csv(const std::string& path, MeasuredRun& run, Diagnostics& errors) {
  CsvTable table(path, errors);
  const Blocks16 blocks = read_blocks(path, run.file, errors);
  if (blocks.empty()) run.file.blocks_file.clear();
  const std::optional<Columns> columns = find_columns(table, path, !blocks.empty(), errors);
  if (!columns) return;
  if (!blocks.empty() && !columns->has(request)) {
    errors.add(Place{path, 1, 1}, "beside it is a file of blocks by request_id: expected this column here too");
    return;
  }
  run.file.shared_by = shared_by(*columns, !blocks.empty());
  tell_columns(table, *columns, run.file);
  CsvRun rows(table, *columns, blocks);
  while (table.next()) {
    if (auto served = rows.request_of_row(run.file)) run.requests.push_back(std::move(*served));
  }
}

}  // namespace blockyard::study
