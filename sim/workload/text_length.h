// How many tokens a text has, where a trace gives texts instead of lengths: one for every 4 characters (Unicode code
// points), rounded up. That is OpenAI's rule of thumb for English; the tokenizer of a model gives other numbers, and
// for code or other languages very different ones. Source: help.openai.com, "What are tokens and how to count them".
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/workload/json_fields.h"

namespace blockyard::workload {

inline constexpr std::int64_t kCharactersPerToken = 4;

[[nodiscard]] std::int64_t characters_in(std::string_view utf8);
[[nodiscard]] constexpr std::int64_t tokens_of(std::int64_t characters) {
  return (characters + kCharactersPerToken - 1) / kCharactersPerToken;
}

// Of a string, or of the messages of a chat: the texts of their "content".
[[nodiscard]] std::int64_t tokens_of_text(const JsonField& field);

}  // namespace blockyard::workload
