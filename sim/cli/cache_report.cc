#include "sim/cli/cache_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "sim/cli/numbers.h"
#include "sim/report/figures.h"
#include "sim/report/text_table.h"

namespace blockyard::cli {
namespace {

using nlohmann::ordered_json;

double ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}
std::string percent(double share) { return fmt::format("{:.2f} %", 100 * share); }
std::string capacity_text(std::int64_t capacity) { return capacity == kUnlimited ? "unlimited" : grouped(capacity); }

// In the unit that was asked for.
std::string in_unit_text(const CacheReport& report, std::int64_t capacity) {
  if (capacity == kUnlimited) return "";
  const double value = static_cast<double>(capacity) / report.blocks_a_unit;
  return report.unit == "GiB" ? report::significant(value) : grouped(std::llround(value));
}

ordered_json in_unit_json(const CacheReport& report, std::int64_t capacity) {
  if (capacity == kUnlimited) return nullptr;
  return static_cast<double>(capacity) / report.blocks_a_unit;
}

std::vector<double> quantiles() { return {0.5, 0.9, 0.99, 1.0}; }

// Capacities of the curve: every one up to 10, then twenty a decade, and the last.
std::vector<std::int64_t> curve_capacities(std::int64_t last) {
  constexpr double kADecade = 20;
  std::vector<std::int64_t> capacities;
  for (double step = 0;; ++step) {
    const auto capacity = static_cast<std::int64_t>(std::llround(std::pow(10, step / kADecade)));
    if (capacity >= last) break;
    if (capacities.empty() || capacity > capacities.back()) capacities.push_back(capacity);
  }
  capacities.push_back(last);
  return capacities;
}

std::string depth_table(const CacheReport& report) {
  report::TextTable table(1);
  table.add({"  blocks of the prompt", "prompts", "tokens", "shared"});
  for (const study::SharedAtDepth& depth : study::shared_by_depth(report.trace.references)) {
    const std::string blocks = depth.first_block + 1 == depth.end_block
                                   ? fmt::format("  {}", depth.first_block + 1)
                                   : fmt::format("  {} to {}", depth.first_block + 1, depth.end_block);
    table.add(
        {blocks, grouped(depth.prompts), grouped(depth.tokens), percent(ratio(depth.shared_tokens, depth.tokens))});
  }
  return table.text();
}

std::string result_table(const CacheReport& report) {
  const kv::ReferenceString& references = report.trace.references;
  report::TextTable table(1);
  const bool in_blocks = report.unit == "blocks";
  const auto add = [&](std::vector<std::string> row, std::int64_t capacity) {
    row.insert(row.begin() + 1, capacity_text(capacity));
    if (!in_blocks) row.insert(row.begin() + 1, in_unit_text(report, capacity));
    table.add(std::move(row));
  };
  std::vector<std::string> heading{"policy",   "capacity",   "blocks found", "of all",    "tokens found", "of all",
                                   "of ideal", "work saved", "requests",     "evictions", "stranded"};
  if (!in_blocks) heading.insert(heading.begin() + 1, report.unit);
  table.add(std::move(heading));
  const kv::EvictionRow* last = nullptr;
  for (const study::CacheResult& result : report.results) {
    if (last != nullptr && last != result.policy && report.study.capacities.size() > 1) table.add({});
    last = result.policy;
    const kv::CacheCounts& counts = result.counts;
    const bool sampled = result.standard_error_blocks.has_value();
    const std::string error =
        sampled ? fmt::format(" +- {}", grouped(std::llround(*result.standard_error_blocks))) : "";
    add({result.policy->name, grouped(counts.hit_blocks) + error,
         percent(ratio(counts.hit_blocks, references.blocks())), grouped(counts.hit_tokens),
         percent(ratio(counts.hit_tokens, references.prompt_tokens().count())),
         percent(ratio(counts.hit_tokens, report.lru.reused_tokens())),
         sampled ? "-" : percent(counts.hit_cost / report.bound.all()), sampled ? "-" : grouped(counts.hit_requests),
         sampled ? "-" : grouped(counts.evictions),
         sampled || counts.cached_blocks == 0 ? "-" : percent(counts.stranded_blocks / counts.cached_blocks)},
        result.capacity);
  }
  table.add({});
  for (const std::int64_t capacity : report.study.capacities) {
    add({"bound", "", "", "", "", "", percent(report.bound.saved(capacity) / report.bound.all())}, capacity);
  }
  return table.text();
}

const char* salt_name(serving::CacheSalt salt) {
  switch (salt) {
    case serving::CacheSalt::none:
      return "none";
    case serving::CacheSalt::tenant:
      return "tenant";
    case serving::CacheSalt::request:
      return "request";
  }
  return "";
}

std::string rules_line(const CacheReport& report) {
  const kv::KeepingRules& rules = report.study.rules;
  std::vector<std::string> parts;
  if (report.answers) parts.emplace_back("answers kept");
  if (report.salt != serving::CacheSalt::none)
    parts.push_back(fmt::format("shared within a {}", salt_name(report.salt)));
  const std::string admission = kv::cache_admissions()[static_cast<std::size_t>(rules.admission)].name;
  if (rules.admission != kv::CacheAdmission::always) parts.push_back("admission " + admission);
  if (rules.pinned > Blocks(0)) parts.push_back(fmt::format("first {} blocks pinned", grouped(rules.pinned.count())));
  if (rules.quota > 0) parts.push_back(fmt::format("at most {} for a tenant", percent(rules.quota)));
  return parts.empty() ? "" : fmt::format("  rules       {}\n", fmt::join(parts, ", "));
}

std::string warm_line(const CacheReport& report) {
  if (!report.warm) return "";
  const kv::ReferenceString& references = report.trace.references;
  return fmt::format("  starts with {} different blocks that {} requests of {} said, as far as they fit\n",
                     grouped(references.contents_before()), grouped(static_cast<std::int64_t>(references.before())),
                     *report.warm);
}

ordered_json warm_json(const CacheReport& report) {
  if (!report.warm) return nullptr;
  const kv::ReferenceString& references = report.trace.references;
  return {
      {"file", *report.warm}, {"requests", references.before()}, {"different_blocks", references.contents_before()}};
}

std::string explanation(const CacheReport& report) {
  const bool gib = report.unit == "GiB";
  std::string text =
      "\ncapacity: blocks" + (gib ? fmt::format(" (GiB: of the KV of {} in bf16)", report.model) : "") +
      "; found: leading blocks of a prompt that are there; of ideal: of the tokens that a cache "
      "without limit finds;\n"
      "requests: with at least one block found; stranded: cached blocks that no prompt reaches, as one before them is "
      "gone\n";
  text += fmt::format(
      "work saved: of the operations to compute all prompts with {}, deeper blocks costing more; bound: no policy "
      "saves more\n",
      report.model);
  if (report.study.sample_share) {
    text +=
        fmt::format("estimated from {} samples of {:g} of the contents each; +- is one standard error; lru is exact\n",
                    study::kSamples, *report.study.sample_share);
  }
  return text;
}

ordered_json result_json(const CacheReport& report, const study::CacheResult& result) {
  const kv::ReferenceString& references = report.trace.references;
  const kv::CacheCounts& counts = result.counts;
  ordered_json json{{"policy", result.policy->name}, {"capacity", in_unit_json(report, result.capacity)}};
  if (result.capacity == kUnlimited) {
    json["capacity_blocks"] = nullptr;
  } else {
    json["capacity_blocks"] = result.capacity;
    json["capacity_tokens"] = result.capacity * references.block_size().count();
  }
  json["hit_blocks"] = counts.hit_blocks;
  json["hit_tokens"] = counts.hit_tokens;
  json["block_hit_ratio"] = ratio(counts.hit_blocks, references.blocks());
  json["token_hit_ratio"] = ratio(counts.hit_tokens, references.prompt_tokens().count());
  if (result.standard_error_blocks) {
    json["standard_error_blocks"] = *result.standard_error_blocks;
    return json;
  }
  json["hit_requests"] = counts.hit_requests;
  json["request_hit_ratio"] = ratio(counts.hit_requests, references.asking());
  json["hit_cost"] = counts.hit_cost;
  json["evicted_blocks"] = counts.evictions;
  json["mean_cached_blocks"] = counts.cached_blocks;
  json["mean_stranded_blocks"] = counts.stranded_blocks;
  return json;
}

}  // namespace

std::string cache_text(const CacheReport& report) {
  const kv::ReferenceString& references = report.trace.references;
  const kv::ReuseDistances& lru = report.lru;
  std::string text =
      fmt::format("{}: format {}, {} requests, blocks of {} tokens, lookup {}\n", report.file,
                  report.trace.report.format, grouped(references.asking()), references.block_size().count(),
                  references.lookup() == kv::Lookup::raw ? "raw" : "full");
  text += rules_line(report) + warm_line(report);
  text += fmt::format("  asked for   {} blocks, {} of them different; {} prompt tokens\n", grouped(references.blocks()),
                      grouped(references.asked_contents()), grouped(references.prompt_tokens().count()));
  text +=
      fmt::format("  ideal       {} blocks ({}), {} tokens ({}), in {} requests, if nothing is ever evicted\n",
                  grouped(lru.reused_blocks()), percent(ratio(lru.reused_blocks(), references.blocks())),
                  grouped(lru.reused_tokens()), percent(ratio(lru.reused_tokens(), references.prompt_tokens().count())),
                  grouped(lru.reused_requests()));
  std::vector<std::string> distances;
  for (const double share : quantiles()) {
    distances.push_back(fmt::format("{:g} % {}", 100 * share, grouped(lru.quantile(share))));
  }
  text += fmt::format("  distance    different blocks since the last use, of reused ones: {}\n\n",
                      fmt::join(distances, ", "));
  text += depth_table(report) + "\n" + result_table(report) + explanation(report);
  return text;
}

std::string cache_json(const CacheReport& report) {
  const kv::KeepingRules& rules = report.study.rules;
  const kv::ReferenceString& references = report.trace.references;
  const kv::ReuseDistances& lru = report.lru;
  ordered_json distances = ordered_json::object();
  for (const double share : quantiles()) distances[fmt::format("p{:g}", 100 * share)] = lru.quantile(share);
  ordered_json depths = ordered_json::array();
  for (const study::SharedAtDepth& depth : study::shared_by_depth(references)) {
    depths.push_back({{"first_block", depth.first_block},
                      {"end_block", depth.end_block},
                      {"prompts", depth.prompts},
                      {"tokens", depth.tokens},
                      {"shared_tokens", depth.shared_tokens}});
  }
  ordered_json results = ordered_json::array();
  for (const study::CacheResult& result : report.results) results.push_back(result_json(report, result));
  ordered_json bounds = ordered_json::array();
  for (const std::int64_t capacity : report.study.capacities) {
    bounds.push_back({{"capacity", in_unit_json(report, capacity)},
                      {"capacity_blocks", capacity == kUnlimited ? ordered_json() : ordered_json(capacity)},
                      {"hit_cost", report.bound.saved(capacity)}});
  }
  ordered_json curve = ordered_json::array();
  for (const std::int64_t capacity : curve_capacities(std::max<std::int64_t>(1, lru.largest()))) {
    curve.push_back({{"capacity_blocks", capacity},
                     {"hit_blocks", lru.hit_blocks(capacity)},
                     {"hit_tokens", lru.hit_tokens(capacity)},
                     {"hit_requests", lru.hit_requests(capacity)}});
  }
  const ordered_json json{{"schema", "blockyard.cache/1"},
                          {"trace", report.file},
                          {"format", report.trace.report.format},
                          {"lookup", references.lookup() == kv::Lookup::raw ? "raw" : "full"},
                          {"answers", report.answers},
                          {"salt", salt_name(report.salt)},
                          {"block_tokens", references.block_size().count()},
                          {"requests", references.asking()},
                          {"blocks", references.blocks()},
                          {"different_blocks", references.asked_contents()},
                          {"prompt_tokens", references.prompt_tokens().count()},
                          {"model", report.model},
                          {"unit", report.unit},
                          {"admission", kv::cache_admissions()[static_cast<std::size_t>(rules.admission)].name},
                          {"pinned_blocks", rules.pinned.count()},
                          {"warm", warm_json(report)},
                          {"quota", rules.quota > 0 ? ordered_json(rules.quota) : ordered_json()},
                          {"ideal",
                           {{"hit_blocks", lru.reused_blocks()},
                            {"hit_tokens", lru.reused_tokens()},
                            {"hit_requests", lru.reused_requests()},
                            {"block_hit_ratio", ratio(lru.reused_blocks(), references.blocks())},
                            {"token_hit_ratio", ratio(lru.reused_tokens(), references.prompt_tokens().count())}}},
                          {"reuse_distance_blocks", distances},
                          {"shared_by_depth", depths},
                          {"cost_bounds", bounds},
                          {"all_cost", report.bound.all()},
                          {"results", results},
                          {"lru_curve", curve}};
  return json.dump(2) + "\n";
}

}  // namespace blockyard::cli
