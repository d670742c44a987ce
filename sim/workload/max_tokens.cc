#include "sim/workload/max_tokens.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/base/diagnostics.h"
#include "sim/base/random.h"

namespace blockyard::workload {
namespace {

constexpr std::array<MaxTokensEntry, 5> kRules{{
    {"true_length", "what the request will really generate", MaxTokensKind::true_length, ""},
    {"constant", "the same for all requests", MaxTokensKind::constant, "value"},
    {"factor", "the true length times a factor, with noise (noise_cv), rounded up", MaxTokensKind::factor, "factor"},
    {"model_limit", "what the prompt leaves of max_model_len, at least 1", MaxTokensKind::model_limit, "max_model_len"},
    {"recorded", "what the trace says; the true length where it says nothing", MaxTokensKind::recorded, ""},
}};

constexpr double kMost = 1e15;

void check(const MaxTokensRule& rule) {
  Diagnostics errors;
  const bool constant = rule.kind == MaxTokensKind::constant;
  const bool limit = rule.kind == MaxTokensKind::model_limit;
  if (constant && rule.value <= Tokens(0)) {
    errors.add({}, fmt::format("max_tokens.value: found {}, expected 1 token or more", rule.value.count()));
  }
  if (limit && rule.max_model_len <= Tokens(0)) {
    errors.add({}, fmt::format("max_model_len: found {}, expected 1 token or more", rule.max_model_len.count()));
  }
  if (rule.kind == MaxTokensKind::factor && !(rule.factor > 0 && rule.factor <= 1e6)) {
    errors.add({}, fmt::format("max_tokens.factor: found {}, expected a number above 0, up to 1e6", rule.factor));
  }
  if (!(rule.noise_cv >= 0 && rule.noise_cv <= 10)) {
    errors.add({}, fmt::format("max_tokens.noise_cv: found {}, expected 0 to 10", rule.noise_cv));
  }
  errors.throw_if_any();
}

class MaxTokensEdit final : public RequestSource {
 public:
  MaxTokensEdit(std::unique_ptr<RequestSource> source, const MaxTokensRule& rule)
      : source_(std::move(source)), rule_(rule), noise_(rule.seed, "max_tokens") {}

  std::size_t read(std::span<Request> out) override {
    const std::size_t count = source_->read(out);
    MaxTokensRule rule = rule_;
    for (Request& request : out.first(count)) {
      if (noisy()) rule.factor = rule_.factor * noise_.lognormal(1, rule_.noise_cv);
      request.max_tokens = declared_tokens(rule, request);
    }
    return count;
  }

 private:
  std::unique_ptr<RequestSource> source_;
  [[nodiscard]] bool noisy() const { return rule_.kind == MaxTokensKind::factor && rule_.noise_cv > 0; }

  MaxTokensRule rule_;
  RandomStream noise_;
};

}  // namespace

std::span<const MaxTokensEntry> max_tokens_rules() { return kRules; }

Tokens declared_tokens(const MaxTokensRule& rule, const Request& request) {
  switch (rule.kind) {
    case MaxTokensKind::recorded:
      return request.max_tokens;
    case MaxTokensKind::true_length:
      return request.output_tokens;
    case MaxTokensKind::constant:
      return rule.value;
    case MaxTokensKind::factor:
      return Tokens(
          std::llround(std::min(kMost, std::ceil(rule.factor * static_cast<double>(request.output_tokens.count())))));
    case MaxTokensKind::model_limit:
      return std::max(rule.max_model_len - request.prompt_tokens, Tokens(1));
  }
  return request.max_tokens;
}

std::unique_ptr<RequestSource> with_max_tokens(std::unique_ptr<RequestSource> source, const MaxTokensRule& rule) {
  check(rule);
  return std::make_unique<MaxTokensEdit>(std::move(source), rule);
}

}  // namespace blockyard::workload
