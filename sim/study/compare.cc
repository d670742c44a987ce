#include "sim/study/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "sim/base/diagnostics.h"
#include "sim/scenario/load.h"
#include "sim/serving/assemble.h"
#include "sim/serving/names.h"
#include "sim/study/parallel.h"

namespace blockyard::study {
namespace {

// What is wrong with several variants alike is told once. Their settings are given by --vary.
void add_new(const InputError& error, const Variant& variant, std::vector<std::string>& known,
             Diagnostics& diagnostics) {
  for (Diagnostic diagnostic : error.diagnostics()) {
    for (const auto& [key, value] : variant.settings) {
      if (diagnostic.place.file == fmt::format("--set {}={}", key, value))
        diagnostic.place.file = fmt::format("--vary {}={}", key, value);
    }
    std::string text = to_string(diagnostic);
    if (std::ranges::find(known, text) != known.end()) continue;
    known.push_back(std::move(text));
    diagnostics.add(diagnostic.place, diagnostic.message);
  }
}

// A variant's scenario, or why it does not fit.
struct Loaded {
  std::optional<scenario::Document> scenario;
  std::string does_not_fit;
  bool generic_constants = false;
};

std::vector<Loaded> load_all(const std::filesystem::path& file, std::span<const std::string> sets,
                             const std::vector<Variant>& variants, const std::filesystem::path& configs) {
  const scenario::Schema schema = serving::scenario_schema(configs);
  std::vector<Loaded> loaded;
  std::vector<std::string> known;
  Diagnostics wrong;
  std::vector<std::string> known_not_to_fit;
  Diagnostics not_fitting;
  for (const Variant& variant : variants) {
    loaded.emplace_back();
    try {
      scenario::Document scenario = scenario::load(file, schema, assignments(sets, variant));
      const serving::Assembly assembly = serving::assemble(scenario, configs);  // finds contradictions between keys
      loaded.back().generic_constants =
          assembly.constants.calibration.generic && scenario.choice("cost.model") != "fixed";
      loaded.back().scenario = std::move(scenario);
    } catch (const InputError& error) {
      if (!error.only_does_not_fit()) {
        add_new(error, variant, known, wrong);
        continue;
      }
      loaded.back().does_not_fit = error.what();
      add_new(error, variant, known_not_to_fit, not_fitting);
    }
  }
  wrong.throw_if_any();
  if (std::ranges::none_of(loaded, [](const Loaded& one) { return one.scenario.has_value(); }))
    not_fitting.throw_if_any();
  return loaded;
}

// The progress of several runs as one, asked from their threads.
class Overall {
 public:
  // `runs` of the variants run.
  Overall(std::size_t variants, std::size_t runs, const std::function<bool(const CompareProgress&)>& go_on)
      : runs_(runs), go_on_(go_on), last_(variants) {}

  bool go_on(std::size_t run, const serving::RunProgress& progress, std::optional<std::int64_t> expected) {
    const std::scoped_lock lock(mutex_);
    sum_.simulated += progress.now - last_[run].now;
    sum_.finished += progress.finished - last_[run].finished;
    last_[run] = progress;
    if (expected) sum_.expected = *expected * static_cast<std::int64_t>(runs_);
    if (go_on_ && !go_on_(sum_)) stopped_ = true;
    return !stopped_;
  }
  bool stopped() {
    const std::scoped_lock lock(mutex_);
    return stopped_;
  }

 private:
  std::mutex mutex_;
  std::size_t runs_;
  const std::function<bool(const CompareProgress&)>& go_on_;
  std::vector<serving::RunProgress> last_;
  CompareProgress sum_;
  bool stopped_ = false;
};

// Beside each variant with a prefix cache, the one that differs in nothing but eviction = opt, if it was run.
void add_regrets(const std::vector<Variant>& variants, std::vector<std::optional<metrics::Summary>>& summaries) {
  constexpr std::string_view kKey = "prefix_cache.eviction";
  const auto with_opt = [&](std::vector<std::pair<std::string, std::string>> settings) {
    for (auto& [key, value] : settings) {
      if (key == kKey) value = "opt";
    }
    return settings;
  };
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::size_t best = 0; best < variants.size(); ++best) {
      if (!summaries[i] || !summaries[best] || variants[best].settings != with_opt(variants[i].settings)) continue;
      auto& own = summaries[i]->prefix_cache_work;
      const auto& opt = summaries[best]->prefix_cache_work;
      if (!own || !opt || summaries[best]->identity.eviction != "opt") continue;
      own->regret = {opt->hit_tokens() - own->hit_tokens(), opt->saved_prefill_s - own->saved_prefill_s};
    }
  }
}

}  // namespace

std::vector<report::Variant> compare(const std::filesystem::path& scenario, std::span<const std::string> sets,
                                     const std::vector<Variant>& variants, const std::filesystem::path& configs,
                                     const CompareControl& control) {
  const std::vector<Loaded> loaded = load_all(scenario, sets, variants, configs);
  const auto runs = std::ranges::count_if(loaded, [](const Loaded& one) { return one.scenario.has_value(); });
  std::vector<std::optional<metrics::Summary>> summaries(variants.size());
  Overall overall(variants.size(), static_cast<std::size_t>(runs), control.go_on);
  std::mutex telling;
  for_each_index(variants.size(), control.jobs, [&](std::size_t i) {
    if (!loaded[i].scenario || overall.stopped()) return;
    serving::RunControl one{
        .go_on = [&, i](const serving::RunProgress& progress,
                        std::optional<std::int64_t> expected) { return overall.go_on(i, progress, expected); },
        .time_series = control.time_series};
    if (control.memory_listener && loaded[i].scenario->boolean("output.memory_events")) {
      const std::scoped_lock lock(telling);
      one.memory_changed = control.memory_listener(variants[i]);
    }
    serving::RunResult result = serving::run(*loaded[i].scenario, configs, one);
    const std::scoped_lock lock(telling);
    if (control.finished) control.finished(variants[i], result);
    summaries[i] = std::move(result.summary);
  });

  add_regrets(variants, summaries);
  std::vector<report::Variant> compared;
  for (std::size_t i = 0; i < variants.size(); ++i) {
    if (summaries[i]) {
      compared.push_back(
          {variants[i].label, std::move(*summaries[i]), "", variants[i].settings, loaded[i].generic_constants});
    }
    if (!loaded[i].scenario) compared.push_back({variants[i].label, {}, loaded[i].does_not_fit, variants[i].settings});
  }
  return compared;
}

}  // namespace blockyard::study
