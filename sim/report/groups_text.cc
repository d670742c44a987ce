#include "sim/report/groups_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/report/definitions.h"
#include "sim/report/figures.h"
#include "sim/report/text_table.h"

namespace blockyard::report {
namespace {

using metrics::GroupFigures;

constexpr std::size_t kColumns = 100;
constexpr const char* kDefinition =
    "requests and tokens (prompts, and outputs of finished requests) with their shares of all; lost: rejected, timed "
    "out, unfinished; TTFT and E2E of finished requests in seconds: mean, p50, p99; good: share that finished and met "
    "every limit.";

std::int64_t tokens_of(const GroupFigures& f) { return f.prompt_tokens + f.output_tokens; }

std::string seconds(const std::optional<double>& value) { return value ? significant(*value, 3) : "-"; }

// One row a group, all that there are of a kind.
class Table {
 public:
  Table(const char* name, const std::vector<GroupFigures>& groups, const std::optional<GroupFigures>& more) {
    const auto add = [&](const GroupFigures& f) {
      requests_ += f.arrived;
      tokens_ += tokens_of(f);
    };
    for (const GroupFigures& f : groups) add(f);
    if (more) add(*more);
    limits_ = !groups.empty() && groups.front().good_requests.has_value();
    std::vector<std::string> head{name,     "requests", "",    "tokens", "",    "lost",
                                  "TTFT s", "p50",      "p99", "E2E s",  "p50", "p99"};
    if (limits_) head.emplace_back("good");
    table_.add(std::move(head));
  }

  void add(const std::string& name, const GroupFigures& f) {
    std::vector<std::string> row{"  " + name,
                                 count_text(f.arrived),
                                 share(f.arrived, requests_),
                                 count_text(tokens_of(f)),
                                 share(tokens_of(f), tokens_),
                                 count_text(f.arrived - f.finished)};
    for (const metrics::Distribution* d : {&f.ttft, &f.e2e}) {
      for (const auto& value : {d->mean_s, d->p50_s, d->p99_s}) row.push_back(seconds(value));
    }
    if (limits_) row.push_back(f.good_share() ? share_text(*f.good_share()) : "-");
    table_.add(std::move(row));
  }

  // For many groups in one row no quantiles are kept: none are shown.
  void add_sums(const std::string& name, const std::vector<const GroupFigures*>& groups) {
    GroupFigures sum;
    for (const GroupFigures* f : groups) {
      sum.arrived += f->arrived;
      sum.finished += f->finished;
      sum.prompt_tokens += f->prompt_tokens;
      sum.output_tokens += f->output_tokens;
      if (f->good_requests) sum.good_requests = sum.good_requests.value_or(0) + *f->good_requests;
    }
    add(name, sum);
  }

  [[nodiscard]] std::string text() const { return table_.text(); }

 private:
  static std::string share(std::int64_t part, std::int64_t all) {
    return all == 0 ? "-" : share_text(static_cast<double>(part) / static_cast<double>(all));
  }

  TextTable table_;
  std::int64_t requests_ = 0;
  std::int64_t tokens_ = 0;
  bool limits_ = false;
};

std::string classes_text(const std::vector<GroupFigures>& classes) {
  Table table("class", classes, std::nullopt);
  std::string misses;
  for (const GroupFigures& f : classes) {
    table.add(f.name, f);
    const std::string limits = f.slo.any() ? slo_text(f.slo) : "no limit";
    misses +=
        wrapped(fmt::format("  {}: ", f.name),
                fmt::format("{}; beyond: {}", limits, misses_text(f.slo, f.misses.value_or(metrics::SloMisses{}))),
                kColumns, "    ");
  }
  return table.text() + misses;
}

std::string tenants_text(const metrics::TenantFigures& tenants) {
  Table table("tenant", tenants.tenants, tenants.others);
  std::vector<const GroupFigures*> others;
  for (std::size_t i = 0; i < tenants.tenants.size(); ++i) {
    const GroupFigures& f = tenants.tenants[i];
    if (i < kTenantsShown) {
      table.add(f.name, f);
    } else {
      others.push_back(&f);
    }
  }
  if (tenants.others) others.push_back(&*tenants.others);
  if (!others.empty()) {
    table.add_sums(fmt::format("{} others", count_text(tenants.count - static_cast<std::int64_t>(kTenantsShown))),
                   others);
  }
  return table.text();
}

}  // namespace

std::string groups_text(const metrics::Summary& s) {
  std::string text;
  if (!s.slo_classes.empty()) text += classes_text(s.slo_classes);
  if (s.tenants.count > 0) text += (text.empty() ? "" : "\n") + tenants_text(s.tenants);
  return text.empty() ? text : text + wrapped("  ", kDefinition, kColumns, "  ") + "\n";
}

}  // namespace blockyard::report
