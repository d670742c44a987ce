#include "sim/serving/slo_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "sim/workload/slo_classes.h"

namespace blockyard::serving {
namespace {

using scenario::Document;
using Tenants = workload::SloClassRule::Tenants;

metrics::Slo limits_of(const Document& document, const std::string& base, const metrics::Slo& otherwise) {
  const auto limit = [&](const char* key, const std::optional<SimTime>& absent) {
    return document.has_value(base + key) ? document.time(base + key) : absent;
  };
  return {
      .ttft = limit("ttft", otherwise.ttft), .tpot = limit("tpot", otherwise.tpot), .e2e = limit("e2e", otherwise.e2e)};
}

// "1, 3-5".
std::optional<std::vector<Tenants>> tenants_of(std::string_view text) {
  std::vector<Tenants> tenants;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto skip = [&](char c) {
    while (at != end && *at == ' ') ++at;
    if (at == end || *at != c) return false;
    for (++at; at != end && *at == ' ';) ++at;
    return true;
  };
  do {
    Tenants of;
    auto read = std::from_chars(at, end, of.first);
    if (read.ec != std::errc()) return std::nullopt;
    at = read.ptr;
    of.last = of.first;
    if (skip('-')) {
      read = std::from_chars(at, end, of.last);
      if (read.ec != std::errc() || of.last < of.first) return std::nullopt;
      at = read.ptr;
    }
    tenants.push_back(of);
  } while (skip(','));
  if (at != end) return std::nullopt;
  return tenants;
}

// Names stand in files without quotes, and in names of columns.
bool is_name(std::string_view text) {
  return text.size() <= 64 && std::ranges::all_of(text, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
         });
}

workload::SloClassRule rule_of(const Document& item, Diagnostics& errors) {
  workload::SloClassRule rule;
  if (!is_name(item.text("name"))) errors.add(item.place("name"), "name: expected up to 64 letters, digits, - and _");
  if (item.has_value("category")) rule.category = item.text("category");
  if (item.has_value("tenants")) {
    const auto tenants = tenants_of(item.text("tenants"));
    if (tenants) {
      rule.tenants = *tenants;
    } else {
      errors.add(item.place("tenants"),
                 fmt::format("tenants: expected numbers and ranges, such as \"1, 3-5\", found {}",
                             scenario::in_quotes(item.text("tenants"))));
    }
  }
  const bool names_some = item.has_value("category") || item.has_value("tenants");
  rule.weight = item.has_value("weight") ? item.real("weight") : names_some ? 0 : 1;
  return rule;
}

// A request is of the first class that names its category, or its tenant: a second one would never have it.
void expect_apart(const Document& item, const workload::SloClassRule& rule,
                  const std::vector<workload::SloClassRule>& earlier, Diagnostics& errors) {
  for (const workload::SloClassRule& other : earlier) {
    if (!rule.category.empty() && rule.category == other.category)
      errors.add(item.place("category"), fmt::format("category: {} is another class's", rule.category));
    for (const Tenants& own : rule.tenants) {
      for (const Tenants& taken : other.tenants) {
        const std::uint32_t first = std::max(own.first, taken.first);
        if (first > std::min(own.last, taken.last)) continue;
        errors.add(item.place("tenants"), fmt::format("tenants: {} is another class's", first));
        return;
      }
    }
  }
}

}  // namespace

metrics::Slo slo(const Document& scenario) { return limits_of(scenario, "slo.", {}); }

std::vector<metrics::SloClass> slo_classes(const Document& scenario) {
  std::vector<metrics::SloClass> classes;
  for (const Document& item : scenario.items("slo.classes"))
    classes.push_back({item.text("name"), limits_of(item, "", slo(scenario))});
  return classes;
}

void set_classes(const Document& scenario, Requests& requests, Diagnostics& errors) {
  const std::vector<Document>& items = scenario.items("slo.classes");
  if (items.empty()) return;
  if (items.size() > metrics::kMostSloClasses) {
    errors.add(scenario.place("slo.classes"),
               fmt::format("slo.classes: found {}, expected {} at most", items.size(), metrics::kMostSloClasses));
  }
  std::vector<workload::SloClassRule> rules;
  rules.reserve(items.size());
  std::set<std::string> names;
  for (std::size_t i = 0; i < items.size(); ++i) {
    Diagnostics found;
    workload::SloClassRule rule = rule_of(items[i], found);
    expect_apart(items[i], rule, rules, found);
    rules.push_back(std::move(rule));
    const std::string& name = items[i].text("name");
    if (!names.insert(name).second) found.add(items[i].place("name"), fmt::format("name: {} is another's", name));
    for (const Diagnostic& d : found.list()) errors.add(d.place, fmt::format("slo.classes[{}].{}", i, d.message));
  }
  requests.source = workload::with_slo_classes(std::move(requests.source), rules,
                                               static_cast<std::uint64_t>(scenario.integer("seed")), requests.named_by);
}

}  // namespace blockyard::serving
