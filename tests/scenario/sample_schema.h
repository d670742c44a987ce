// A small schema with every form of key, and ways to read against it.
#pragma once

#include <catch2/catch.hpp>

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/load.h"
#include "sim/scenario/schema.h"

namespace blockyard::scenario {

inline Schema sample_schema() {
  return {
      "sample",
      {
          {.path = "name", .accepts = {Kind::text}, .doc = "a name"},
          {.path = "seed", .accepts = {{Kind::integer, at_least(0)}}, .fallback = "1"},
          {.path = "engine.max_num_seqs",
           .accepts = {{Kind::integer, at_least(1)}},
           .fallback = "256",
           .aliases = {"max_batch_size"}},
          {.path = "engine.queue_order",
           .words = {{"fcfs", "first come"}, {"priority", "by priority"}},
           .fallback = "fcfs",
           .aliases = {"scheduling_policy"}},
          {.path = "engine.chunked", .accepts = {Kind::boolean}, .fallback = "true"},
          {.path = "engine.utilization", .accepts = {{Kind::real, above_up_to(0, 1)}}, .fallback = "0.9"},
          {.path = "kv_cache.block_size", .accepts = {{Kind::tokens, between(1, 1024)}}, .fallback = "16"},
          {.path = "kv_cache.budget",
           .accepts = {{Kind::blocks, at_least(1)}, {Kind::tokens, at_least(1)}, {Kind::bytes, above(0)}},
           .words = {{"auto", "what is left"}},
           .fallback = "auto",
           .aliases = {"num_gpu_blocks_override"}},
          {.path = "admission.watermark",
           .accepts = {{Kind::real, between(0, 1)}, {Kind::blocks, at_least(0)}},
           .words = {{"engine", "its own"}},
           .fallback = "engine"},
          {.path = "slo.ttft", .accepts = {{Kind::time, above(0)}}},
          {.path = "source.file.path", .accepts = {Kind::file}, .required_in = "source.file"},
          {.path = "source.drawn.count", .accepts = {{Kind::integer, at_least(1)}}, .required_in = "source.drawn"},
          {.path = "source.drawn.arrivals.rate", .accepts = {{Kind::rate, above(0)}}, .required_in = "source.drawn"},
      },
      {{"engine", "the engine"}}};
}

// The errors of a text, one a line; "" if there are none.
inline std::string errors_in(std::string_view text, const Schema& schema, const std::vector<std::string>& sets = {}) {
  try {
    static_cast<void>(parse(text, "chat.yaml", schema, sets));
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

inline std::string errors_in(std::string_view text, const std::vector<std::string>& sets = {}) {
  return errors_in(text, sample_schema(), sets);
}

inline Document read(std::string_view text, const std::vector<std::string>& sets = {}) {
  return parse(text, "chat.yaml", sample_schema(), sets);
}

}  // namespace blockyard::scenario
