#include "sim/workload/csv_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/quantities.h"
#include "sim/workload/csv_fields.h"
#include "sim/workload/name_ids.h"
#include "sim/workload/numbers.h"
#include "sim/workload/request.h"
#include "sim/workload/status.h"

namespace blockyard::workload {
namespace {

constexpr std::array<std::int64_t, 10> kPowersOfTen{1,       10,        100,        1'000,       10'000,
                                                    100'000, 1'000'000, 10'000'000, 100'000'000, 1'000'000'000};

constexpr std::size_t kHeaderShown = 400;
constexpr const char* kSamplesExpected = "expected 1 to 256 samples";
static_assert(kMostSamples == 256);

bool is_digit(char c) { return c >= '0' && c <= '9'; }

class CsvReader final : public RowReader {
 public:
  CsvReader(LineReader lines, bool header, const CsvLayout& layout)
      : lines_(std::move(lines)), layout_(layout), has_header_(header) {
    if (header) {
      map_header(first_line());
    } else {
      map_header(layout_.header);
    }
  }

  bool read(RowBatch& batch) override {
    batch.clear();
    std::string_view line;
    for (std::size_t i = 0; i < RowBatch::kLines; ++i) {
      if (!lines_.next(line)) return i > 0;
      TraceRow& row = batch.rows[batch.size];
      row = TraceRow{};
      row.timed = layout_.time != TimeForm::none;
      row.line = lines_.line_number();
      if (parse(line, row, batch)) ++batch.size;
    }
    return true;
  }

  [[nodiscard]] const std::string& file() const override { return lines_.file(); }

 private:
  std::string_view first_line();
  void map_header(std::string_view line);
  bool parse(std::string_view line, TraceRow& row, RowBatch& batch);
  const char* parse_field(const CsvColumn& column, const char*& at, const char* end, TraceRow& row, RowBatch& batch);
  const char* parse_slowly(const CsvColumn& column, const char*& at, const char* end, TraceRow& row, RowBatch& batch);
  bool take_name(CsvField field, std::string_view text, TraceRow& row, RowBatch& batch);
  bool bad(RowBatch& batch, std::size_t column, std::string message) const {
    batch.bad.push_back({lines_.place(static_cast<int>(column) + 1), std::move(message)});
    return false;
  }

  // Where the file does not say which columns it has.
  [[nodiscard]] std::string columns_meant() const {
    return has_header_ ? "" : fmt::format(" (without a header: {})", layout_.header);
  }

  LineReader lines_;
  const CsvLayout& layout_;
  bool has_header_;
  NameIds sessions_;
  NameIds tenants_;
  NameIds prefixes_;
  std::vector<const CsvColumn*> fields_;  // what stands in each field of a row; nullptr: another column
};

std::string_view CsvReader::first_line() {
  std::string_view line;
  do {
    if (!lines_.next(line)) throw InputError({lines_.file()}, "is empty, expected a CSV header");
  } while (trimmed(line).empty());
  return line;
}

void CsvReader::map_header(std::string_view line) {
  const std::vector<std::string> found = split_header(line);
  fields_.assign(found.size(), nullptr);
  Diagnostics errors;
  std::vector<std::string_view> wanted;
  for (const CsvColumn& column : layout_.columns) {
    if (column.required) wanted.push_back(column.name);
    std::size_t times = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      if (!same_name(found[i], column.name)) continue;
      fields_[i] = &column;
      ++times;
    }
    if (times > 1) errors.add(lines_.place(), fmt::format("the column \"{}\" occurs {} times", column.name, times));
  }
  for (const CsvColumn& column : layout_.columns) {
    if (!column.required || std::find(fields_.begin(), fields_.end(), &column) != fields_.end()) continue;
    errors.add(lines_.place(),
               fmt::format("no column \"{}\"; found {}, wanted \"{}\"{}", column.name, quoted(line, kHeaderShown),
                           fmt::join(wanted, ","), did_you_mean(column.name, found)));
  }
  errors.throw_if_any();
}

bool CsvReader::parse(std::string_view line, TraceRow& row, RowBatch& batch) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    if (i > 0) {
      if (at == end) {
        if (i == 1 && trimmed(line).empty()) return false;
        return bad(batch, line.size(),
                   fmt::format("the row has {} of {} fields{}", i, fields_.size(), columns_meant()));
      }
      ++at;
    } else if (at == end) {
      return false;
    }
    const char* const start = at;
    if (fields_[i] == nullptr) {
      std::string_view ignored;
      if (const char* fault = take_field(at, end, ignored)) {
        return bad(batch, static_cast<std::size_t>(start - line.data()), fault);
      }
    } else if (const char* fault = parse_field(*fields_[i], at, end, row, batch)) {
      if (i == 0 && trimmed(line).empty()) return false;
      const char* stop = start;
      std::string_view text;
      (void)take_field(stop, end, text);
      return bad(batch, static_cast<std::size_t>(start - line.data()),
                 fmt::format("{}: found {}, {}", fields_[i]->name, quoted(text), fault));
    }
  }
  if (at != end) {
    return bad(batch, static_cast<std::size_t>(at - line.data()),
               fmt::format("the row has more fields than the {} columns{}", fields_.size(), columns_meant()));
  }
  return true;
}

// The usual forms, read where they stand; anything else goes the slow way.
const char* CsvReader::parse_field(const CsvColumn& column, const char*& at, const char* end, TraceRow& row,
                                   RowBatch& batch) {
  if (column.field > CsvField::prefix_tokens) return parse_slowly(column, at, end, row, batch);
  const DigitRun run = leading_digits(at, end);
  if (run.count == 0) return parse_slowly(column, at, end, row, batch);
  const char* p = at + run.count;
  if (column.field == CsvField::time) {
    if (layout_.time != TimeForm::seconds) return parse_slowly(column, at, end, row, batch);
    std::int64_t ns = run.value * kNanosecondsPerSecond;
    if (p != end && *p == '.') {
      const DigitRun fraction = leading_digits(++p, end);
      p += fraction.count;
      ns += fraction.value * kPowersOfTen[9 - fraction.count];
      if (p != end && is_digit(*p) && fraction.count == 8) ns += *p++ - '0';
    }
    if (p != end && *p != ',') return parse_slowly(column, at, end, row, batch);
    row.time_ns = ns;
    at = p;
    return nullptr;
  }
  const std::int64_t value = run.value;
  if (p != end && *p != ',') return parse_slowly(column, at, end, row, batch);
  at = p;
  switch (column.field) {
    case CsvField::prompt_tokens:
      row.prompt_tokens = value;
      break;
    case CsvField::output_tokens:
      row.output_tokens = value;
      break;
    case CsvField::max_tokens:
      row.max_tokens = value;
      break;
    case CsvField::priority:
      row.priority = static_cast<std::int32_t>(value);
      break;
    case CsvField::tenant:
      row.tenant = static_cast<std::uint32_t>(value);
      break;
    case CsvField::session:
      row.session = static_cast<std::uint32_t>(value);
      break;
    case CsvField::prefix:
      row.prefix = static_cast<std::uint32_t>(value);
      break;
    case CsvField::prefix_tokens:
      row.prefix_tokens = value;
      break;
    case CsvField::samples:
      if (value < 1 || value > kMostSamples) return kSamplesExpected;
      row.samples = static_cast<std::int32_t>(value);
      break;
    default:
      break;
  }
  return nullptr;
}

namespace {

// To ns.
const char* parse_time(TimeForm form, std::string_view text, std::int64_t& ns, const char* if_negative) {
  if (form == TimeForm::date_time) {
    const DateTime time = parse_date_time(text);
    ns = time.ns;
    return time.fault;
  }
  const int power = form == TimeForm::seconds ? 9 : form == TimeForm::milliseconds ? 6 : 3;
  const Decimal time = parse_decimal(text, power);
  if (time.fault == nullptr && text.starts_with('-') && time.value != 0) return if_negative;
  ns = time.value;
  return time.fault;
}

}  // namespace

// Fields that are names; false: the field is a number.
bool CsvReader::take_name(CsvField field, std::string_view text, TraceRow& row, RowBatch& batch) {
  switch (field) {
    case CsvField::session_name:
      row.session = sessions_.of(text);
      if (!layout_.sessions_repeat && row.session != 0) row.reused_tokens = 0;
      return true;
    case CsvField::tenant_name:
      row.tenant = tenants_.of(text);
      return true;
    case CsvField::prefix_name:
      row.prefix = prefixes_.of(text);
      return true;
    case CsvField::category:
      row.category = batch.category(text);
      return true;
    case CsvField::images:
      row.category = batch.category(text.find_first_not_of("0. ") == std::string_view::npos ? "text" : "images");
      return true;
    case CsvField::status:
      if (!is_success(text)) row.kind = RowKind::failed;
      return true;
    case CsvField::request_type:
      row.category = batch.category(text);
      if (!text.empty() && !same_name(text, layout_.request_type)) row.kind = RowKind::not_a_request;
      return true;
    default:
      return false;
  }
}

const char* CsvReader::parse_slowly(const CsvColumn& column, const char*& at, const char* end, TraceRow& row,
                                    RowBatch& batch) {
  std::string_view text;
  if (const char* fault = take_field(at, end, text)) return fault;
  if (column.field == CsvField::time) {
    return text.empty() ? "expected a time" : parse_time(layout_.time, text, row.time_ns, "a negative arrival");
  }
  if (take_name(column.field, text, row, batch)) return nullptr;
  if (text.empty()) return nullptr;  // a missing length is for the row policy, the rest have defaults
  if (column.field == CsvField::delay) {
    return parse_time(layout_.delay, text, row.delay_ns, "a negative time");
  }
  const Decimal number = parse_decimal(text, 0);
  if (number.fault != nullptr) return number.fault;
  if (!number.exact) return "expected a whole number";
  const auto within = [&](std::int64_t low, std::int64_t high) { return number.value >= low && number.value <= high; };
  switch (column.field) {
    case CsvField::prompt_tokens:
    case CsvField::output_tokens:
      if (number.value > kLongestLength) return "more than 1,000,000,000 tokens";
      (column.field == CsvField::prompt_tokens ? row.prompt_tokens : row.output_tokens) =
          std::max(number.value, std::int64_t{-1});
      break;
    case CsvField::max_tokens:
      if (!within(0, kLongestLength)) return "expected 0 to 1,000,000,000 tokens";
      row.max_tokens = number.value;
      break;
    case CsvField::priority:
      if (!within(INT32_MIN, INT32_MAX)) return "expected a 32-bit whole number";
      row.priority = static_cast<std::int32_t>(number.value);
      break;
    case CsvField::tenant:
    case CsvField::session:
    case CsvField::prefix: {
      if (!within(0, UINT32_MAX)) return "expected a whole number from 0 to 4294967295";
      std::uint32_t& name = column.field == CsvField::tenant    ? row.tenant
                            : column.field == CsvField::session ? row.session
                                                                : row.prefix;
      name = static_cast<std::uint32_t>(number.value);
      break;
    }
    case CsvField::prefix_tokens:
      if (!within(0, kLongestLength)) return "expected 0 to 1,000,000,000 tokens";
      row.prefix_tokens = number.value;
      break;
    case CsvField::reused_tokens:
      if (!within(0, kLongestLength)) return "expected 0 to 1,000,000,000 tokens";
      row.reused_tokens = static_cast<std::int32_t>(number.value);
      break;
    case CsvField::samples:
      if (!within(1, kMostSamples)) return kSamplesExpected;
      row.samples = static_cast<std::int32_t>(number.value);
      break;
    default:
      break;
  }
  return nullptr;
}

}  // namespace

bool has_columns(std::string_view header, const CsvLayout& layout) {
  const std::vector<std::string> found = split_header(header);
  return std::all_of(layout.columns.begin(), layout.columns.end(), [&](const CsvColumn& column) {
    return !column.required || std::any_of(found.begin(), found.end(),
                                           [&](const std::string& name) { return same_name(name, column.name); });
  });
}

std::unique_ptr<RowReader> open_csv(LineReader lines, bool header, const CsvLayout& layout) {
  return std::make_unique<CsvReader>(std::move(lines), header, layout);
}

}  // namespace blockyard::workload
