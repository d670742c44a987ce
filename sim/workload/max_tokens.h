// The rule by which requests declare their max_tokens, as an edit of a source. Only max_tokens changes: a declaration
// shorter than the true output is left for the engine to cut, and no length is capped here.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "sim/workload/request.h"

namespace blockyard::workload {

enum class MaxTokensKind { recorded, true_length, constant, factor, model_limit };

struct MaxTokensRule {
  MaxTokensKind kind = MaxTokensKind::true_length;
  Tokens value{0};          // constant: > 0
  double factor = 1;        // factor: > 0
  Tokens max_model_len{0};  // model_limit: > 0
  double noise_cv = 0;      // factor: of a log-normal noise of mean 1 that it is multiplied by; 0 = none
  std::uint64_t seed = 0;   // of the noise
};

struct MaxTokensEntry {
  std::string_view name;
  std::string_view doc;
  MaxTokensKind kind;
  std::string_view key;  // the MaxTokensRule field (scenario key) it needs, or ""
};

[[nodiscard]] std::span<const MaxTokensEntry> max_tokens_rules();

// Without noise.
[[nodiscard]] Tokens declared_tokens(const MaxTokensRule& rule, const Request& request);

// InputError when the rule's own value is out of range.
[[nodiscard]] std::unique_ptr<RequestSource> with_max_tokens(std::unique_ptr<RequestSource> source,
                                                             const MaxTokensRule& rule);

}  // namespace blockyard::workload
