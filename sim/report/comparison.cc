#include "sim/report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <span>

#include "sim/report/comparison_groups.h"
#include "sim/report/comparison_rows.h"
#include "sim/report/definitions.h"
#include "sim/report/figures.h"
#include "sim/report/summary_json.h"
#include "sim/report/text_table.h"

namespace blockyard::report {
namespace {

constexpr std::size_t kColumns = 120;
constexpr std::size_t kLabelColumns = 20;

using Values = std::vector<std::optional<double>>;

// Adds `text` in lines of at most kLabelColumns characters, broken behind a sign if one stands in the second half.
void add_in_lines(std::vector<std::string>& lines, std::string_view text) {
  while (characters(text) > kLabelColumns) {
    std::size_t end = 0;
    std::size_t behind_sign = 0;
    for (std::size_t used = 0; used < kLabelColumns; ++used) {
      if (used >= kLabelColumns / 2 && std::string_view("/-_., ").find(text[end]) != std::string_view::npos)
        behind_sign = end + 1;
      do ++end;
      while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
    }
    const std::size_t cut = behind_sign > 0 ? behind_sign : end;
    lines.emplace_back(text.substr(0, text[cut - 1] == ' ' ? cut - 1 : cut));
    text.remove_prefix(cut);
  }
  lines.emplace_back(text);
}

// "strategy=paged, block_size=16" in a line a setting, and long settings in several, so that labels do not push columns
// off the screen.
std::vector<std::string> label_lines(std::string_view label) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start <= label.size();) {
    const std::size_t end = std::min(label.find(", ", start), label.size());
    std::string_view setting = label.substr(start, end - start);
    if (characters(setting) > kLabelColumns) {
      const std::size_t value = setting.find('=') + 1;  // 0 without a key
      if (value > 0) add_in_lines(lines, setting.substr(0, value));
      setting.remove_prefix(value);
    }
    add_in_lines(lines, setting);
    start = end + 2;
  }
  return lines;
}

void add_labels(TextTable& table, std::span<const Variant* const> variants) {
  std::vector<std::vector<std::string>> labels;
  std::size_t height = 0;
  for (const Variant* variant : variants) {
    labels.push_back(label_lines(variant->label));
    height = std::max(height, labels.back().size());
  }
  for (std::size_t line = 0; line < height; ++line) {
    std::vector<std::string> row{"", ""};
    for (std::size_t i = 0; i < labels.size(); ++i) {
      row.push_back(line < labels[i].size() ? labels[i][line] : "");
      if (i > 0) row.emplace_back("");
    }
    table.add(std::move(row));
  }
}

std::string ratio_text(const std::optional<double>& value, const std::optional<double>& first) {
  if (!value || !first || *first == 0) return "";
  return significant(*value / *first, 3) + "x";
}

Unit unit_of(const ComparisonRow& row, std::span<const Variant* const> variants) {
  double largest = 0;
  for (const Variant* variant : variants) {
    const std::optional<double> value =
        row.sample != nullptr ? (variant->summary.*row.sample).mean_s : row.value(variant->summary);
    largest = std::max(largest, value.value_or(0));
  }
  if (row.figure == Figure::time) return time_unit(largest);
  return row.figure == Figure::bytes ? byte_unit(largest) : Unit{row.unit, 1};
}

std::string value_text(Figure figure, const std::optional<double>& value, const Unit& unit) {
  if (value && figure == Figure::count) return count_text(static_cast<std::int64_t>(*value));
  if (value && figure == Figure::share) return share_text(*value);
  return in_unit(value, unit);
}

void add_row(TextTable& table, const ComparisonRow& row, std::span<const Variant* const> variants,
             const Values& values) {
  const Unit unit = unit_of(row, variants);
  std::vector<std::string> cells{"  " + row.name, unit.name};
  for (std::size_t i = 0; i < values.size(); ++i) {
    cells.push_back(value_text(row.figure, values[i], unit));
    if (i > 0) cells.push_back(row.ratio ? ratio_text(values[i], values[0]) : "");
  }
  table.add(std::move(cells));
}

bool left_out(Show show, const Values& values) {
  return show != Show::always && std::all_of(values.begin(), values.end(), [&](const auto& value) {
           return !value || (show == Show::if_not_zero && *value == 0);
         });
}

// What is the same in all variants; what is compared stands in their labels.
std::string heading(std::span<const Variant> variants) {
  const metrics::Identity& first = variants.front().summary.identity;
  const auto same = [&](auto member) {
    return std::ranges::all_of(variants, [&](const Variant& v) { return v.summary.identity.*member == first.*member; });
  };
  using metrics::Identity;
  std::string text = same(&Identity::scenario) ? first.scenario + ": " : "";
  text += same(&Identity::model) ? first.model : "several models";
  const bool one_gpu = same(&Identity::gpu) && same(&Identity::gpus);
  text += one_gpu ? fmt::format(" on {} x {}", first.gpus, first.gpu) : " on several GPUs";
  text += same(&Identity::seed) ? fmt::format(", seed {}", first.seed) : ", several seeds";
  return wrapped("", text + "; ratios are to the first variant", kColumns, "  ") + "\n";
}

// Some row that is a statistic of `sample`, or stands in `group`, is shown.
bool shows(std::span<const Variant> variants, metrics::Distribution metrics::Summary::* sample,
           std::string_view group = "") {
  return std::ranges::any_of(comparison_rows(), [&](const ComparisonRow& row) {
    if (sample != nullptr ? row.sample != sample : row.group != group) return false;
    Values values;
    for (const Variant& variant : variants) values.push_back(row.value(variant.summary));
    return !left_out(row.show, values);
  });
}

// What the rows that are shown mean; those of latency, throughput and memory always are.
std::string definitions(std::span<const Variant> variants) {
  std::string text;
  const auto add = [&](const char* definition) { text += wrapped("  ", definition, kColumns, "  "); };
  add(kLatencyDefinition);
  if (shows(variants, nullptr, kTimeWentGroup)) add(kTimeDefinition);
  add(kThroughputDefinition);
  if (shows(variants, &metrics::Summary::stall)) add(kStallDefinition);
  add(kMemoryDefinition);
  const auto refused = [](const Variant& v) { return v.summary.refused_although_free > 0; };
  if (std::ranges::any_of(variants, refused)) add(kRefusedDefinition);
  return text;
}

TextTable table_of(std::span<const Variant* const> variants) {
  TextTable table(2);
  add_labels(table, variants);
  std::string group;
  std::vector<ComparisonRow> rows = comparison_rows();
  std::vector<const metrics::Summary*> summaries;
  summaries.reserve(variants.size());
  for (const Variant* variant : variants) summaries.push_back(&variant->summary);
  for (ComparisonRow& row : group_rows(summaries)) rows.push_back(std::move(row));
  for (const ComparisonRow& row : rows) {
    Values values;
    for (const Variant* variant : variants) values.push_back(row.value(variant->summary));
    if (left_out(row.show, values)) continue;
    if (row.group != group) {
      if (!group.empty()) table.add({});
      table.add({row.group});
      group = row.group;
    }
    add_row(table, row, variants, values);
  }
  return table;
}

// As many variants a table as fit, each table with the first one in front.
std::string tables(const std::vector<Variant>& variants) {
  std::string text;
  for (std::size_t next = 1; text.empty() || next < variants.size();) {
    std::vector<const Variant*> shown{&variants.front()};
    TextTable table = table_of(shown);
    for (; next < variants.size(); ++next) {
      shown.push_back(&variants[next]);
      TextTable wider = table_of(shown);
      if (shown.size() > 2 && wider.width() > kColumns) break;
      table = std::move(wider);
    }
    if (!text.empty()) text += "\n";
    text += table.text();
  }
  return text;
}

// Warnings, provenance and notes: once where all variants have the line, else under the labels of those that do.
std::string origins(const std::vector<Variant>& variants) {
  std::vector<std::string> lines;
  const auto lines_of = [](const Variant& variant) {
    const metrics::Summary& s = variant.summary;
    std::vector<std::string> all = s.warnings;
    all.insert(all.end(), s.identity.provenance.begin(), s.identity.provenance.end());
    all.insert(all.end(), s.identity.notes.begin(), s.identity.notes.end());
    return all;
  };
  std::string text;
  for (const Variant& variant : variants) {
    for (const std::string& line : lines_of(variant)) {
      if (std::find(lines.begin(), lines.end(), line) != lines.end()) continue;
      lines.push_back(line);
      std::string who;
      std::size_t holders = 0;
      for (const Variant& other : variants) {
        const auto others = lines_of(other);
        if (std::find(others.begin(), others.end(), line) == others.end()) continue;
        ++holders;
        who += (who.empty() ? "" : "; ") + other.label;
      }
      text += wrapped(holders == variants.size() ? "- " : fmt::format("- [{}] ", who), line, kColumns, "  ");
    }
  }
  return text.empty() ? text : "\n" + text;
}

// Constants of one kind are off alike, of two kinds they are not: then the lesser GPU may come out as the better one.
std::string unlike_constants(const std::vector<Variant>& variants) {
  std::vector<std::string> generic;
  for (const Variant& variant : variants) {
    if (variant.generic_constants) generic.push_back(variant.label);
  }
  if (generic.empty() || generic.size() == variants.size()) return "";
  return "\n" +
         wrapped("note: ",
                 fmt::format("the constants of {} are generic, those of the others were measured: between the two "
                             "kinds, differences of 10 to 20 % in step time say nothing",
                             fmt::join(generic, "; ")),
                 kColumns, "  ");
}

// Each refusal once, with the variants that it holds for.
std::string refusals(const std::vector<Variant>& variants) {
  std::vector<std::pair<std::string, std::string>> by_reason;  // reason, labels
  for (const Variant& variant : variants) {
    if (variant.does_not_fit.empty()) continue;
    const auto known = std::ranges::find(by_reason, variant.does_not_fit, &std::pair<std::string, std::string>::first);
    if (known == by_reason.end()) {
      by_reason.emplace_back(variant.does_not_fit, variant.label);
    } else {
      known->second += "; " + variant.label;
    }
  }
  std::string text;
  for (const auto& [reason, labels] : by_reason) text += fmt::format("{} does not fit: {}\n", labels, reason);
  return text;
}

}  // namespace

std::string print_comparison(const std::vector<Variant>& all) {
  std::vector<Variant> variants;
  std::ranges::copy_if(all, std::back_inserter(variants), [](const Variant& v) { return v.does_not_fit.empty(); });
  std::string left_out = refusals(all);
  if (variants.empty()) return left_out;
  std::string text;
  for (const Variant& variant : variants) {
    const std::string marks = marks_text(variant.summary);
    if (!marks.empty()) text += fmt::format("{}:\n{}", variant.label, marks);
  }
  text += heading(variants) + left_out + (left_out.empty() ? "" : "\n") + tables(variants) + "\n";
  return text + definitions(variants) + unlike_constants(variants) + origins(variants);
}

nlohmann::ordered_json comparison_json(const std::vector<Variant>& variants) {
  nlohmann::ordered_json j;
  j["schema"] = "blockyard.comparison/1";
  j["variants"] = nlohmann::ordered_json::array();
  for (const Variant& variant : variants) {
    if (variant.does_not_fit.empty()) {
      j["variants"].push_back({{"label", variant.label}, {"summary", summary_json(variant.summary)}});
    } else {
      j["variants"].push_back({{"label", variant.label}, {"does_not_fit", variant.does_not_fit}});
    }
  }
  return j;
}

}  // namespace blockyard::report
