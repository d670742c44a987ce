// What a request may tell beyond its time and lengths, as a set: what an output format has room for, what a request
// uses of it, what is lost between them.
#pragma once

#include <array>

#include "sim/workload/request.h"

namespace blockyard::workload {

using FieldSet = unsigned;

namespace fields {
inline constexpr FieldSet max_tokens = 1U << 0;
inline constexpr FieldSet priority = 1U << 1;
inline constexpr FieldSet tenant = 1U << 2;
inline constexpr FieldSet session = 1U << 3;
inline constexpr FieldSet reuse = 1U << 4;
inline constexpr FieldSet delay = 1U << 5;
inline constexpr FieldSet beginning = 1U << 6;  // prefix and prefix_tokens
inline constexpr FieldSet ids = 1U << 7;        // of prompt blocks
inline constexpr FieldSet category = 1U << 8;
inline constexpr FieldSet samples = 1U << 9;
inline constexpr FieldSet none = 0;
inline constexpr FieldSet all = (1U << 10) - 1;
}  // namespace fields

inline constexpr std::array<const char*, 10> kFieldNames{
    "max_tokens", "priority", "tenant", "session", "reused_tokens", "delay", "prefix", "hash_ids", "category", "n"};

// Those that are not at their defaults.
[[nodiscard]] inline FieldSet fields_of(const Request& request) {
  const auto if_any = [](bool any, FieldSet field) { return any ? field : fields::none; };
  return if_any(request.max_tokens != request.output_tokens, fields::max_tokens) |
         if_any(request.priority != 0, fields::priority) | if_any(request.tenant != 0, fields::tenant) |
         if_any(request.session != 0, fields::session) | if_any(request.reused_tokens != kWholeSession, fields::reuse) |
         if_any(request.delay >= SimTime(0), fields::delay) | if_any(request.prefix_tokens > 0, fields::beginning) |
         if_any(request.content != ContentId::none, fields::ids) | if_any(request.category != 0, fields::category) |
         if_any(request.samples != 1, fields::samples);
}

}  // namespace blockyard::workload
