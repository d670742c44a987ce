// What a request may tell beyond its time and lengths, as a set: what an output format has room for, what a request
// uses of it, what is lost between them.
#pragma once

#include <array>

#include "sim/workload/request.h"

namespace blockyard::workload {

using FieldSet = unsigned;

namespace fields {
inline constexpr FieldSet kMaxTokens = 1U << 0;
inline constexpr FieldSet kPriority = 1U << 1;
inline constexpr FieldSet kTenant = 1U << 2;
inline constexpr FieldSet kSession = 1U << 3;
inline constexpr FieldSet kReuse = 1U << 4;
inline constexpr FieldSet kDelay = 1U << 5;
inline constexpr FieldSet kBeginning = 1U << 6;  // prefix and prefix_tokens
inline constexpr FieldSet kIds = 1U << 7;        // of prompt blocks
inline constexpr FieldSet kCategory = 1U << 8;
inline constexpr FieldSet kSamples = 1U << 9;
inline constexpr FieldSet kNone = 0;
inline constexpr FieldSet kAll = (1U << 10) - 1;
}  // namespace fields

inline constexpr std::array<const char*, 10> kFieldNames{
    "max_tokens", "priority", "tenant", "session", "reused_tokens", "delay", "prefix", "hash_ids", "category", "n"};

// Those that are not at their defaults.
[[nodiscard]] inline FieldSet fields_of(const Request& request) {
  const auto if_any = [](bool any, FieldSet field) { return any ? field : fields::kNone; };
  return if_any(request.max_tokens != request.output_tokens, fields::kMaxTokens) |
         if_any(request.priority != 0, fields::kPriority) | if_any(request.tenant != 0, fields::kTenant) |
         if_any(request.session != 0, fields::kSession) |
         if_any(request.reused_tokens != kWholeSession, fields::kReuse) |
         if_any(request.delay >= SimTime(0), fields::kDelay) | if_any(request.prefix_tokens > 0, fields::kBeginning) |
         if_any(request.content != ContentId::none, fields::kIds) | if_any(request.category != 0, fields::kCategory) |
         if_any(request.samples != 1, fields::kSamples);
}

}  // namespace blockyard::workload
