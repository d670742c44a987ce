// Number formats of weights and of the KV cache, with the bytes an element takes. Formats with per-group scales are not
// among them.
#pragma once

#include <optional>
#include <string_view>

#include "sim/base/named.h"

namespace blockyard::model {

enum class ElementType { bf16, fp16, fp8, int8 };

[[nodiscard]] double bytes_per_element(ElementType type);
[[nodiscard]] std::string_view name_of(ElementType type);
// Takes "bf16" as well as Hugging Face's "bfloat16"; "float32" is fp16, since engines load such weights in half
// precision. Nothing for an unknown name.
[[nodiscard]] std::optional<ElementType> element_type(std::string_view name);
[[nodiscard]] const NameDocs& element_types();

}  // namespace blockyard::model
