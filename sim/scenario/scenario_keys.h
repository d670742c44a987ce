// The keys of a scenario. Which names a policy key takes is the caller's to say: they stand in the tables of the rooms
// that own the policies.
#pragma once

#include "sim/base/named.h"
#include "sim/scenario/schema.h"

namespace blockyard::scenario {

struct Vocabulary {
  NameDocs models;  // entries of configs/models and configs/gpus; a path to a file is always accepted too
  NameDocs gpus;
  NameDocs trace_formats;  // without "auto"
  NameDocs arrival_processes;
  NameDocs length_distributions;
  NameDocs max_tokens_rules;
  NameDocs schedulers;
  NameDocs engine_presets;
  NameDocs queue_orders;
  NameDocs routers;
  NameDocs strategies;
  NameDocs reservations;
  NameDocs placements;
  NameDocs evictions;
  NameDocs cache_admissions;
  NameDocs kv_dtypes;  // without "auto"
  NameDocs preemption_modes;
  NameDocs victims;
  NameDocs cost_models;
};

[[nodiscard]] Schema scenario_schema(const Vocabulary& vocabulary);

// The same, for what needs no more of a scenario than its requests: nothing is required but in their section.
[[nodiscard]] Schema requests_schema(const Vocabulary& vocabulary);

}  // namespace blockyard::scenario
