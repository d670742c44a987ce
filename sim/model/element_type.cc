#include "sim/model/element_type.h"

#include <array>

namespace blockyard::model {
namespace {

struct Row {
  ElementType type;
  const char* name;
  const char* hugging_face_name;
  double bytes;
  const char* doc;
};

constexpr std::array kRows{
    Row{ElementType::bf16, "bf16", "bfloat16", 2, "16-bit brain float"},
    Row{ElementType::fp16, "fp16", "float16", 2, "16-bit IEEE float"},
    Row{ElementType::fp8, "fp8", "float8_e4m3fn", 1, "8-bit float, one scale a tensor"},
    Row{ElementType::int8, "int8", "int8", 1, "8-bit integer, one scale a tensor"},
};

const Row& row_of(ElementType type) { return kRows[static_cast<std::size_t>(type)]; }

}  // namespace

double bytes_per_element(ElementType type) { return row_of(type).bytes; }

std::string_view name_of(ElementType type) { return row_of(type).name; }

std::optional<ElementType> element_type(std::string_view name) {
  if (name == "float32") return ElementType::fp16;
  for (const Row& row : kRows) {
    if (name == row.name || name == row.hugging_face_name) return row.type;
  }
  return std::nullopt;
}

const NameDocs& element_types() {
  static const NameDocs docs = [] {
    NameDocs made;
    for (const Row& row : kRows) made.push_back({row.name, row.doc});
    return made;
  }();
  return docs;
}

}  // namespace blockyard::model
