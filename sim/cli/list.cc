// blockyard list: the names that a scenario can use, from the tables that validate it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <ostream>

#include "sim/base/diagnostics.h"
#include "sim/cli/commands.h"
#include "sim/cli/config_folder.h"
#include "sim/cli/options.h"
#include "sim/scenario/scenario_keys.h"
#include "sim/serving/run.h"

namespace blockyard::cli {
namespace {

using scenario::Vocabulary;

struct Listing {
  const char* what;
  const char* doc;
  NameDocs Vocabulary::* names;
};

constexpr std::array kListings{
    Listing{"models", "for model, from configs/models", &Vocabulary::models},
    Listing{"gpus", "for hardware.gpu, from configs/gpus", &Vocabulary::gpus},
    Listing{"formats", "for workload.trace.format", &Vocabulary::trace_formats},
    Listing{"arrivals", "for workload.generate.arrivals.process", &Vocabulary::arrival_processes},
    Listing{"lengths", "for workload.generate.prompt_tokens.distribution and output_tokens.distribution",
            &Vocabulary::length_distributions},
    Listing{"max_tokens_rules", "for workload.max_tokens.rule", &Vocabulary::max_tokens_rules},
    Listing{"schedulers", "for engine.scheduler", &Vocabulary::schedulers},
    Listing{"queue_orders", "for engine.queue_order", &Vocabulary::queue_orders},
    Listing{"strategies", "for kv_cache.strategy", &Vocabulary::strategies},
    Listing{"reservations", "for kv_cache.reservation", &Vocabulary::reservations},
    Listing{"placements", "for kv_cache.placement", &Vocabulary::placements},
};

NameDocs listings() {
  NameDocs all;
  for (const Listing& listing : kListings) all.push_back({listing.what, listing.doc});
  return all;
}

NameDocs names_of(const std::string& what, const Options& options) {
  const auto* const found = std::ranges::find_if(kListings, [&](const Listing& l) { return what == l.what; });
  if (found == kListings.end()) {
    std::vector<std::string> known;
    for (const Listing& listing : kListings) known.emplace_back(listing.what);
    options.fail(
        fmt::format("nothing called \"{}\"{} (there are {})", what, did_you_mean(what, known), fmt::join(known, ", ")));
  }
  const Vocabulary vocabulary = serving::vocabulary(config_folder());
  return vocabulary.*(found->names);
}

void print(const NameDocs& names, std::ostream& out) {
  std::size_t width = 0;
  for (const NameDoc& name : names) width = std::max(width, name.name.size());
  for (const NameDoc& name : names) out << fmt::format("{:<{}}  {}\n", name.name, width, name.doc);
}

void print_json(const NameDocs& names, std::ostream& out) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const NameDoc& name : names) list.push_back({{"name", name.name}, {"doc", name.doc}});
  out << list.dump(2) << '\n';
}

}  // namespace

ExitStatus list(const Arguments& arguments, Streams streams) {
  Options options("blockyard list", "what a scenario can name");
  options.words("WHAT", 0, 1, "one of the lists; without it, the lists themselves");
  options.flag("json", "print JSON");
  if (!options.parse(arguments, streams)) return ExitStatus::done;
  const NameDocs names = options.words().empty() ? listings() : names_of(options.words().front(), options);
  if (options.has("json")) {
    print_json(names, streams.out);
  } else {
    print(names, streams.out);
  }
  return ExitStatus::done;
}

}  // namespace blockyard::cli
