// Number formats of weights and of the KV cache, with the bytes an element takes, its scales included. Formats of 4
// bits keep one scale a group of elements; those of 8 bits one a tensor, which counts for nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/base/named.h"

namespace blockyard::model {

enum class ElementType : std::uint8_t { bf16, fp16, fp32, fp8, int8, int4, nvfp4, mxfp4 };

[[nodiscard]] double bytes_per_element(ElementType type);
[[nodiscard]] std::string_view name_of(ElementType type);
// Takes "bf16" as well as Hugging Face's "bfloat16". Nothing for an unknown name.
[[nodiscard]] std::optional<ElementType> element_type(std::string_view name);
[[nodiscard]] const NameDocs& element_types();     // of weights
[[nodiscard]] const NameDocs& kv_element_types();  // of the KV cache

}  // namespace blockyard::model
