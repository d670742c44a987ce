#include "sim/scenario/key_groups.h"

namespace blockyard::scenario {
namespace {

Keys limit_keys(const std::string& base) {
  return {
      {.path = base + "ttft", .accepts = {{Kind::time, above(0)}}, .doc = "longest time to the first token"},
      {.path = base + "tpot",
       .accepts = {{Kind::time, above(0)}},
       .doc = "longest time per output token after the first"},
      {.path = base + "e2e", .accepts = {{Kind::time, above(0)}}, .doc = "longest time to the last token"},
  };
}

Schema class_items() {
  Keys keys{
      {.path = "name",
       .accepts = {Kind::text},
       .required_in = "",
       .doc = "what reports call it: letters, digits, - and _"},
      {.path = "category", .accepts = {Kind::text}, .doc = "requests of this category in the trace are of the class"},
      {.path = "tenants",
       .accepts = {Kind::text},
       .doc = "requests of these tenants are of the class, if no class names their category: \"1, 3-5\""},
      {.path = "weight",
       .accepts = {{Kind::real, between(0, 1e9)}},
       .doc = "requests that no class names are drawn by weight, all turns of a session alike; 1 without it, 0 for a "
              "class that names a category or tenants"},
  };
  append(keys, limit_keys(""));
  return {"class", std::move(keys)};
}

}  // namespace

Keys slo_keys() {
  Keys keys = limit_keys("slo.");
  append(keys, {{.path = "slo.classes",
                 .doc = "classes of requests with limits of their own; those that a class does not give are the ones "
                        "of all",
                 .items = std::make_shared<const Schema>(class_items())}});
  return keys;
}

}  // namespace blockyard::scenario
