// One row of a table of names that a scenario may use: the same table feeds validation, `list`, the JSON Schema and the
// tests.
#pragma once

#include <string>
#include <vector>

namespace blockyard {

struct NameDoc {
  std::string name;
  std::string doc;
};
using NameDocs = std::vector<NameDoc>;

}  // namespace blockyard
