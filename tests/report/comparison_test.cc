#include "sim/report/comparison.h"

#include <catch2/catch.hpp>
#include <set>

#include "sim/report/comparison_rows.h"
#include "sim/report/summary_json.h"
#include "sim/report/text_table.h"
#include "tests/report/example_summary.h"
#include "tests/report/lines.h"

namespace blockyard::report {
namespace {

metrics::Summary slower() {
  metrics::Summary s = example_summary();
  s.ttft.mean_s = 12;
  s.mean_running = 7.5625;
  s.memory[0].mean_share = 0.2;
  s.memory[3].mean_share = 0.3;
  return s;
}

// The words of the only row with this name.
std::vector<std::string> row(const std::string& text, const std::string& name) {
  std::vector<std::string> words;
  int found = 0;
  for (const std::string& line : lines_of(text)) {
    if (!line.starts_with("  " + name + "  ")) continue;
    ++found;
    for (const std::string& word : split(line.substr(2 + name.size()), ' ')) {
      if (!word.empty()) words.push_back(word);
    }
  }
  INFO(name);
  CHECK(found == 1);
  return words;
}

using Words = std::vector<std::string>;

TEST_CASE("figures stand side by side, in one unit, with their ratio to the first") {
  const std::string text = print_comparison({{"strategy=paged", example_summary()}, {"strategy=contiguous", slower()}});
  CHECK(lines_of(text).at(0).ends_with("; ratios are to the first variant"));
  CHECK(lines_of(text).at(2).ends_with("strategy=paged  strategy=contiguous"));
  CHECK(row(text, "arrived") == Words{"19,366", "19,366"});
  CHECK(row(text, "TTFT mean") == Words{"s", "0.1875", "12.00", "64.0x"});
  CHECK(row(text, "TTFT p50") == Words{"s", "0.1250", "0.1250", "1.00x"});  // the unit of its mean
  CHECK(row(text, "running, mean") == Words{"30.25", "7.562", "0.250x"});
  CHECK(row(text, "over_reserved") == Words{"0", "%", "30.0", "%"});
  CHECK(row(text, "capacity") == Words{"GiB", "60.00", "60.00", "1.00x"});
}

TEST_CASE("ratios have one form, however far from 1") {
  const auto ratio_of = [](double mean) {
    metrics::Summary s = example_summary();
    s.mean_running *= mean;
    const std::string text = print_comparison({{"a=1", example_summary()}, {"a=2", s}});
    return row(text, "running, mean").back();
  };
  CHECK(ratio_of(0.0000242) == "0.0000242x");
  CHECK(ratio_of(0.0099) == "0.00990x");
  CHECK(ratio_of(0.05) == "0.0500x");
  CHECK(ratio_of(41300) == "41,300x");
}

TEST_CASE("the mean shares add up to the whole, and each state has its peak") {
  const std::string text = print_comparison({{"a=1", example_summary()}, {"a=2", slower()}});
  CHECK(text.find("memory, mean shares") != std::string::npos);
  CHECK(row(text, "all states").size() == 4);
  CHECK(row(text, "live, at most").size() == 4);
}

TEST_CASE("rows are left out where no variant has anything to say") {
  const auto has = [](const std::string& text, const char* name) { return text.find(name) != std::string::npos; };
  metrics::Summary none = example_summary();
  none.prefix_cache = {};
  none.swap = {};
  none.stall = {};
  none.slo = {};
  none.goodput_requests_per_s = std::nullopt;
  const std::string without = print_comparison({{"a", none}, {"b", none}});
  const std::string with = print_comparison({{"a", none}, {"b", example_summary()}});
  for (const char* name : {"  prefix tokens found ", "  swapped out ", "  stall p99 ", "  goodput, requests "}) {
    INFO(name);
    CHECK_FALSE(has(without, name));
    CHECK(has(with, name));
  }
  CHECK(row(with, "goodput, requests") == Words{"1/s", "-", "5.125"});  // no ratio to nothing
  CHECK_FALSE(has(without, "\n  padding  "));
}

TEST_CASE("figures are defined where there are such") {
  metrics::Summary none = example_summary();
  none.stall = {};
  none.time = {};
  const std::string without = print_comparison({{"a", none}, {"b", none}});
  const std::string with = print_comparison({{"a", none}, {"b", example_summary()}});
  for (const char* definition : {"\n  stall: from each preemption", "\n  where time went: of finished requests;"}) {
    INFO(definition);
    CHECK(without.find(definition) == std::string::npos);
    CHECK(with.find(definition) != std::string::npos);
  }
  CHECK(without.find("\n  latencies of finished requests") != std::string::npos);
}

TEST_CASE("a goodput of nothing is shown: it is the worst there is") {
  metrics::Summary s = example_summary();
  s.good_requests = 0;
  s.goodput_requests_per_s = 0;
  CHECK(row(print_comparison({{"a", s}, {"b", s}}), "goodput, requests") == Words{"1/s", "0", "0"});
}

TEST_CASE("many variants fit the screen in several tables, each beginning with the first") {
  std::vector<Variant> variants;
  for (int i = 1; i <= 6; ++i) {
    variants.push_back({"strategy=contiguous, reservation=length_" + std::to_string(i), example_summary()});
  }
  for (std::size_t n = 1; n <= variants.size(); ++n) {
    const std::vector<Variant> shown(variants.begin(), variants.begin() + static_cast<std::ptrdiff_t>(n));
    const std::string text = print_comparison(shown);
    std::vector<int> times(variants.size() + 1);
    int tables = 0;
    for (const std::string& line : lines_of(text)) {
      INFO(line);
      CHECK(characters(line) <= 120);
      CHECK_FALSE(line.ends_with(' '));
      if (line == "requests") ++tables;
      if (line.find("reservation=length_") == std::string::npos || line.starts_with("- ")) continue;
      for (std::size_t i = 1; i < times.size(); ++i) {
        if (line.find("length_" + std::to_string(i)) != std::string::npos) ++times[i];
      }
    }
    CHECK(times[1] == tables);
    for (std::size_t i = 2; i < times.size(); ++i) CHECK(times[i] == (i <= n ? 1 : 0));
  }
}

TEST_CASE("labels wider than a column are broken into lines that hold all of them") {
  const std::string values[] = {"configs/traces/one_of_many_recorded_weeks.csv", "none",
                                std::string(50, 'x') + "éé" + std::string(20, 'y')};
  std::vector<Variant> variants;
  for (const std::string& value : values) {
    variants.push_back({"trace.file=" + value + ", seed=1", example_summary()});
    const std::vector<std::string> lines = lines_of(print_comparison({variants.back()}));
    std::string whole;
    for (std::size_t i = 2; i < lines.size() && lines[i] != "requests"; ++i) {
      const std::string piece = lines[i].substr(lines[i].find_first_not_of(' '));
      CHECK(characters(piece) <= 20);
      whole += piece;
    }
    CHECK(whole == "trace.file=" + value + "seed=1");
  }
  int tables = 0;
  for (const std::string& line : lines_of(print_comparison(variants))) {
    CHECK(characters(line) <= 120);
    if (line == "requests") ++tables;
  }
  CHECK(tables == 1);
  // A value that fits a line by itself is not broken.
  CHECK(lines_of(print_comparison({{"victim=least_computed", example_summary()}})).at(3).ends_with(" least_computed"));
}

TEST_CASE("where time went: the rows that are no part of another add up to E2E") {
  metrics::Summary s = example_summary();
  s.time = {.requests = 10, .buckets = {}, .groups = {}};
  double sum = 0;
  for (std::size_t i = 0; i < metrics::kTimeBuckets; ++i) {
    s.time.buckets[i].mean_s = static_cast<double>(1U << i);
    sum += s.time.buckets[i].mean_s;
  }
  for (std::size_t g = 0; g < metrics::kTimeGroups.size(); ++g) {
    for (std::size_t i = metrics::kTimeGroups[g].first; i <= metrics::kTimeGroups[g].last; ++i)
      s.time.groups[g].mean_s += s.time.buckets[i].mean_s;
  }
  double rows = 0;
  double queue = 0;
  for (const ComparisonRow& r : comparison_rows()) {
    if (r.group != "where time went, mean") continue;
    if (!r.name.starts_with("  ")) rows += *r.value(s);
    if (r.name.starts_with("  queue: ")) queue += *r.value(s);
  }
  CHECK(rows == sum);
  CHECK(queue == s.time.groups[0].mean_s);

  const std::string text = print_comparison({{"a=1", example_summary()}, {"a=2", s}});
  CHECK(row(text, "queue") == Words{"s", "1.100", "252.0", "229x"});
  CHECK(row(text, "  queue: KV memory") == Words{"s", "1.100", "192.0", "175x"});
  CHECK(row(text, "missed TTFT") == Words{"5.2", "%", "5.2", "%"});
  CHECK(text.find("  missed E2E ") == std::string::npos);
}

TEST_CASE("notes that all share are told once, others with their variant") {
  metrics::Summary other = example_summary();
  other.identity.notes = {"key kv_cache.block_size is not used"};
  const std::string text = print_comparison({{"a", example_summary()}, {"b", other}, {"c", other}});
  CHECK(text.find("\n- roofline, constants of a100-80gb-sxm") != std::string::npos);
  CHECK(text.find("\n- [a] trace: 3 rows") != std::string::npos);
  CHECK(text.find("\n- [b; c] key kv_cache.block_size is not used\n") != std::string::npos);
  CHECK(text.find("\n- p99 of fewer than 100 values") != std::string::npos);
}

TEST_CASE("an early end of any variant is told first") {
  metrics::Summary stuck = example_summary();
  stuck.stuck = "no progress";
  CHECK(print_comparison({{"a", example_summary()}, {"b", stuck}}).starts_with("b:\nSTOPPED: no progress\n"));
}

TEST_CASE("every row has one name in its group and takes its figure from the summary") {
  std::set<std::pair<std::string, std::string>> names;
  metrics::Summary everything = example_summary();
  everything.shared_blocks_saved = 0.25;
  everything.prefix_cache_work = {
      {.requests = 10, .requests_hit = 4, .looks = 1, .known_blocks = 100}, 1.5, {{64, 0.5}}};
  for (const char* name : {"host", "nvme", "remote"}) {
    everything.prefix_cache_work->ledger.tiers.emplace_back();
    everything.prefix_cache_work->ledger.tiers.back().name = name;
  }
  for (const ComparisonRow& r : comparison_rows()) {
    INFO(r.name);
    CHECK(names.emplace(r.group, r.name).second);
    CHECK(r.value(everything).has_value());
  }
}

TEST_CASE("the comparison for programs holds the summaries under their labels") {
  const nlohmann::ordered_json j = comparison_json({{"a", example_summary()}, {"b", slower()}});
  CHECK(j.at("schema") == "blockyard.comparison/1");
  REQUIRE(j.at("variants").size() == 2U);
  CHECK(j["variants"][1].at("label") == "b");
  CHECK(j["variants"][1].at("summary") == summary_json(slower()));
}

TEST_CASE("constants of two kinds are told once, with the variants whose are generic") {
  const auto note_of = [](bool first, bool second) {
    const std::string text =
        print_comparison({{"gpu=a10", example_summary(), "", {}, first}, {"gpu=l4", slower(), "", {}, second}});
    const std::size_t start = text.find("note: the constants of ");
    return start == std::string::npos ? "" : text.substr(start, text.find(',', start) - start);
  };
  CHECK(note_of(false, false) == "");
  CHECK(note_of(true, true) == "");
  CHECK(note_of(true, false) == "note: the constants of gpu=a10 are generic");
  CHECK(note_of(false, true) == "note: the constants of gpu=l4 are generic");
}

TEST_CASE("variants that do not fit for one reason are told together") {
  const std::string text = print_comparison(
      {{"a=1", example_summary()}, {"a=2", {}, "too large"}, {"a=3", {}, "too many"}, {"a=4", {}, "too large"}});
  CHECK(text.find("a=2; a=4 does not fit: too large\na=3 does not fit: too many\n") != std::string::npos);
}

}  // namespace
}  // namespace blockyard::report
