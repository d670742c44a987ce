#include "sim/model/element_type.h"

#include <array>

namespace blockyard::model {
namespace {

struct Row {
  ElementType type;
  const char* name;
  const char* hugging_face_name;
  double bytes;
  bool of_kv_cache;
  const char* doc;
};

constexpr std::array kRows{
    Row{ElementType::bf16, "bf16", "bfloat16", 2, true, "16-bit brain float"},
    Row{ElementType::fp16, "fp16", "float16", 2, true, "16-bit IEEE float"},
    Row{ElementType::fp32, "fp32", "float32", 4, true, "32-bit IEEE float"},
    Row{ElementType::fp8, "fp8", "float8_e4m3fn", 1, true, "8-bit float, one scale a tensor"},
    Row{ElementType::int8, "int8", "int8", 1, true, "8-bit integer, one scale a tensor"},
    Row{ElementType::int4, "int4", "int4", 0.5 + 2.0 / 128, true, "4-bit integer, a 16-bit scale for 128 elements"},
    Row{ElementType::nvfp4, "nvfp4", "nvfp4", 0.5 + 1.0 / 16, true, "4-bit float, an 8-bit scale for 16 elements"},
    Row{ElementType::mxfp4, "mxfp4", "mxfp4", 0.5 + 1.0 / 32, false, "4-bit float, an 8-bit scale for 32 elements"},
};

const Row& row_of(ElementType type) { return kRows[static_cast<std::size_t>(type)]; }

NameDocs docs(bool of_kv_cache) {
  NameDocs made;
  for (const Row& row : kRows) {
    if (row.of_kv_cache || !of_kv_cache) made.push_back({row.name, row.doc});
  }
  return made;
}

}  // namespace

double bytes_per_element(ElementType type) { return row_of(type).bytes; }

std::string_view name_of(ElementType type) { return row_of(type).name; }

std::optional<ElementType> element_type(std::string_view name) {
  for (const Row& row : kRows) {
    if (name == row.name || name == row.hugging_face_name) return row.type;
  }
  return std::nullopt;
}

const NameDocs& element_types() {
  static const NameDocs all = docs(false);
  return all;
}

const NameDocs& kv_element_types() {
  static const NameDocs kept = docs(true);
  return kept;
}

}  // namespace blockyard::model
