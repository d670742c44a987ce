// blockyard cache: a trace against the prefix cache alone, without time. How much is there to be found, how large does
// a cache have to be, and how near does a policy come to the optimum?
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <thread>

#include "sim/base/diagnostics.h"
#include "sim/cli/cache_report.h"
#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/options.h"
#include "sim/model/kv_geometry.h"
#include "sim/serving/block_costs.h"
#include "sim/serving/hardware.h"

namespace blockyard::cli {
namespace {

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == ',') {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += c;
    }
  }
  return parts;
}

double number_of(const Options& options, const std::string& option, const std::string& text, double least) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) || value < least) {
    options.fail(fmt::format("--{}: expected a number from {} on, found \"{}\"", option, least, text));
  }
  return value;
}

std::int64_t whole_number_of(const Options& options, const std::string& option, const std::string& text,
                             std::int64_t least) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least) {
    options.fail(fmt::format("--{}: expected a whole number from {} on, found \"{}\"", option, least, text));
  }
  return value;
}

std::vector<const kv::EvictionRow*> policies_of(const Options& options) {
  std::vector<std::string> known;
  for (const kv::EvictionRow& row : kv::eviction_policies()) known.emplace_back(row.name);
  std::vector<const kv::EvictionRow*> policies;
  for (const std::string& name : split(options.value_of("policy").value_or("lru"))) {
    if (name == "all") {
      for (const kv::EvictionRow& row : kv::eviction_policies()) policies.push_back(&row);
      continue;
    }
    policies.push_back(kv::find_eviction(name));
    if (policies.back() != nullptr) continue;
    options.fail(fmt::format("--policy: unknown policy \"{}\"{} (policies: {}, or all)", name,
                             did_you_mean(name, known), fmt::join(known, ", ")));
  }
  return policies;
}

model::ModelSpec model_of(const Options& options) {
  const std::string name = options.value_of("model").value_or("llama-3.1-8b");
  const std::filesystem::path folder = config_folder() / "models";
  for (const std::filesystem::path& file :
       {folder / (name + ".json"), folder / (name + ".yaml"), std::filesystem::path(name)}) {
    if (std::filesystem::is_regular_file(file)) return serving::load_model_file(file);
  }
  std::vector<std::string> known;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) known.push_back(entry.path().stem().string());
  std::ranges::sort(known);
  options.fail(fmt::format("--model: no model \"{}\"{} (`blockyard list models`)", name, did_you_mean(name, known)));
}

serving::CacheSalt salt_of(const Options& options) {
  const std::string salt = options.value_of("salt").value_or("none");
  if (salt == "none") return serving::CacheSalt::none;
  if (salt == "tenant") return serving::CacheSalt::tenant;
  if (salt == "request") return serving::CacheSalt::request;
  options.fail(fmt::format("--salt: expected none, tenant or request, found \"{}\"", salt));
}

std::int64_t pinned_tokens(const Options& options) {
  const auto text = options.value_of("pin");
  return text ? whole_number_of(options, "pin", *text, 0) : 0;
}

// All but how many blocks are pinned, which the trace's block size says.
kv::KeepingRules rules_of(const Options& options) {
  kv::KeepingRules rules;
  const std::string admission = options.value_of("admission").value_or("always");
  const auto rule = kv::find_cache_admission(admission);
  if (!rule) {
    std::vector<std::string> known;
    for (const NameDoc& name : kv::cache_admissions()) known.push_back(name.name);
    options.fail(fmt::format("--admission: unknown rule \"{}\"{} (rules: {})", admission,
                             did_you_mean(admission, known), fmt::join(known, ", ")));
  }
  rules.admission = *rule;
  if (const auto text = options.value_of("quota")) {
    rules.quota = number_of(options, "quota", *text, 0);
    if (!(rules.quota > 0 && rules.quota <= 1)) options.fail("--quota: expected a share above 0, at most 1");
  }
  const bool any = rules.any() || pinned_tokens(options) > 0;
  if (any && options.has("flat")) options.fail("--flat: not together with --admission, --pin or --quota");
  if (any && options.has("sample")) options.fail("--sample: not together with --admission, --pin or --quota");
  return rules;
}

Blocks pinned_blocks(const Options& options, Tokens block_size) {
  const std::int64_t tokens = pinned_tokens(options);
  if (tokens > 0 && tokens < block_size.count()) {
    options.fail(fmt::format("--pin: {} tokens are less than a block of {}", tokens, block_size.count()));
  }
  return Blocks(tokens / block_size.count());
}

// Of `all`, those that go with the rules; a policy named by itself has to.
void check_rules(const Options& options, study::CacheStudy& study) {
  std::vector<const kv::EvictionRow*> policies;
  const bool named = options.value_of("policy").value_or("") != "all";
  for (const kv::EvictionRow* policy : study.policies) {
    const std::string why = kv::why_not(*policy, study.rules);
    if (!why.empty() && named) options.fail(fmt::format("--policy: {}", why));
    if (why.empty()) policies.push_back(policy);
  }
  study.policies = policies;
}

std::int64_t longest_chain(const kv::ReferenceString& references) {
  std::int64_t longest = 0;
  for (const auto& request : references.requests()) longest = std::max<std::int64_t>(longest, request.ids);
  return longest;
}

std::string unit_of(const Options& options) { return options.value_of("unit").value_or("blocks"); }

double blocks_a_unit(const Options& options, const model::ModelSpec& model, Tokens block) {
  const std::string unit = unit_of(options);
  if (unit == "blocks") return 1;
  if (unit == "tokens") return 1 / static_cast<double>(block.count());
  if (unit == "GiB") {
    const Bytes token = model::kv_bytes_per_token(model::kv_geometry(model), 1, model::ElementType::bf16);
    return 1024.0 * 1024 * 1024 / static_cast<double>(token.count() * block.count());
  }
  options.fail(fmt::format("--unit: expected blocks, tokens or GiB, found \"{}\"", unit));
}

// 1, 2, 5, 10, ... times a hundredth of what the trace needs at most, and that.
std::vector<std::int64_t> usual_capacities(std::int64_t contents) {
  std::vector<std::int64_t> capacities;
  for (std::int64_t power = 1; power <= contents; power *= 10) {
    for (const std::int64_t step : {1, 2, 5}) {
      if (step * power >= contents / 200 && step * power < contents) capacities.push_back(step * power);
    }
  }
  capacities.push_back(contents);
  return capacities;
}

std::vector<std::int64_t> capacities_of(const Options& options, double blocks, const kv::ReferenceString& references) {
  if (!options.has("capacity")) return usual_capacities(references.contents());
  std::vector<std::int64_t> capacities;
  for (const std::string& text : split(*options.value_of("capacity"))) {
    if (text == "unlimited") {
      capacities.push_back(kUnlimited);
    } else {
      if (const std::size_t unit = text.find_first_not_of("0123456789.+-eE"); unit != std::string::npos && unit > 0) {
        options.fail(
            fmt::format("--capacity: found \"{}\", expected numbers; --unit blocks, tokens or GiB says of what", text));
      }
      const double capacity = number_of(options, "capacity", text, 0) * blocks;
      if (capacity >= 4e9) options.fail(fmt::format("--capacity: {} is more than 4,000,000,000 blocks", text));
      capacities.push_back(static_cast<std::int64_t>(std::floor(capacity + 1e-9)));
    }
  }
  return capacities;
}

}  // namespace

ExitStatus cache(const Arguments& arguments, Streams streams) {
  Options options("blockyard cache", "a trace against the prefix cache alone, without time");
  options.words("TRACE", 1, 1, "a trace that says what its prompts share, plain or gzip, - for standard input");
  options.value("capacity", "N,N,...",
                "sizes of the cache, or unlimited (default: a series up to all that is asked for)");
  options.value("unit", "UNIT", "of the capacities: blocks (default), tokens, or GiB of --model");
  options.value("policy", "NAME,...", "eviction policies (`blockyard list evictions`; all = every one; default: lru)");
  options.value("lookup", "RULE",
                "raw (default): all ids of a prompt; full: the engine's full blocks, never the last token");
  options.flag("answers",
               "what requests generate is kept too, for the next turn of their session (with --lookup full)");
  options.value("block-size", "TOKENS",
                "cut prompts into blocks of so many tokens (default: that of the trace's ids, else 16)");
  options.flag("flat", "every block by itself, in the order of the trace: unrelated objects instead of prefixes");
  options.value("admission", "RULE", "which blocks are worth keeping: always (default), second_hit or tinylfu");
  options.value("pin", "TOKENS", "full blocks of the first so many tokens of every prompt go last");
  options.value("quota", "SHARE", "of the cache, the most that the blocks of one tenant may take");
  options.value("salt", "WHOSE", "who shares: none (default: everybody), tenant, or request (nobody)");
  options.value("warm", "FILE", "a trace: the cache starts with what its requests said, in that order");
  options.value("sample", "SHARE", "estimate from samples of this share of the contents (lru stays exact)");
  options.value("model", "NAME", "whose KV GiB measure and whose work gdsf saves (default: llama-3.1-8b)");
  options.value("ttl", "SECONDS", "lifetime of unused blocks, for the policy ttl (default: 300)");
  options.value("seed", "N", "of the policy random (default: 1)");
  options.value("format", "NAME", "read as this format (`blockyard list formats`) instead of recognising it");
  options.value("limit", "N", "read the first N requests only");
  options.value("jobs", "N", "runs at the same time (default: one a processor)");
  options.flag("json", "print JSON, and nothing else, to standard output");
  if (!options.parse(arguments, streams)) return ExitStatus::done;

  study::CacheStudy study;
  study.policies = policies_of(options);
  study::CacheTraceOptions how;
  how.format = options.value_of("format").value_or("auto");
  const std::string lookup = options.value_of("lookup").value_or("raw");
  if (lookup != "raw" && lookup != "full")
    options.fail(fmt::format("--lookup: expected raw or full, found \"{}\"", lookup));
  how.lookup = lookup == "full" ? kv::Lookup::full : kv::Lookup::raw;
  how.answers = options.has("answers");
  if (how.answers) {
    if (options.has("lookup") && how.lookup == kv::Lookup::raw)
      options.fail("--answers: the engine's rule alone says what of an answer is kept; --lookup full");
    how.lookup = kv::Lookup::full;
  }
  if (const auto text = options.value_of("block-size"))
    how.block_size = Tokens(whole_number_of(options, "block-size", *text, 1));
  if (const auto text = options.value_of("limit")) how.limit = whole_number_of(options, "limit", *text, 1);
  how.salt = salt_of(options);
  how.warm = options.value_of("warm");
  study.jobs = std::max(1U, std::thread::hardware_concurrency());
  if (const auto text = options.value_of("jobs"))
    study.jobs = static_cast<std::size_t>(whole_number_of(options, "jobs", *text, 1));
  if (const auto text = options.value_of("seed"))
    study.options.policy.seed = static_cast<std::uint64_t>(whole_number_of(options, "seed", *text, 0));
  if (const auto text = options.value_of("ttl"))
    study.options.policy.ttl = to_time(number_of(options, "ttl", *text, 0));
  if (const auto text = options.value_of("sample")) {
    study.sample_share = number_of(options, "sample", *text, 0);
    if (!(*study.sample_share > 0 && *study.sample_share <= 1))
      options.fail("--sample: expected a share above 0, at most 1");
  }

  study.rules = rules_of(options);
  const model::ModelSpec model = model_of(options);
  study::CacheTrace trace = study::read_cache_trace(options.words().front(), how);
  if (trace.references.asking() == 0) throw InputError({options.words().front()}, "no request to look up");
  if (!trace.tells_sharing) {
    throw InputError({options.words().front()},
                     "the trace does not say what its prompts share: nothing can be told of a cache");
  }
  if (options.has("flat")) trace.references = trace.references.flattened();
  study.rules.pinned = pinned_blocks(options, trace.references.block_size());
  check_rules(options, study);
  const double blocks = blocks_a_unit(options, model, trace.references.block_size());
  study.capacities = capacities_of(options, blocks, trace.references);
  study.options.cost = serving::block_costs(model, trace.references.block_size(), longest_chain(trace.references));
  const kv::ReuseDistances distances(trace.references);
  const kv::CostBound bound(trace.references, study.options.cost);
  const CacheReport report{options.words().front(),
                           how.warm,
                           trace,
                           distances,
                           bound,
                           model.name,
                           study,
                           how.answers,
                           how.salt,
                           unit_of(options),
                           blocks,
                           study::run_cache_study(trace.references, distances, study)};
  if (options.has("json")) {
    streams.out << cache_json(report);
  } else {
    streams.out << cache_text(report);
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
