#include <string>

#include "sim/scenario/key_groups.h"

namespace blockyard::scenario {
namespace {

Keys trace_keys(const Vocabulary& names) {
  const std::string section = "workload.trace";
  return {
      {.path = section + ".file",
       .accepts = {Kind::file},
       .required_in = section,
       .doc = "the trace, plain, gzip or zstd",
       .aliases = {"trace_file", "dataset_path"}},
      {.path = section + ".format",
       .words = with_first({"auto", "by the header or the first record"}, names.trace_formats),
       .fallback = "auto",
       .doc = "how the trace is written"},
      {.path = section + ".rate_scale",
       .accepts = {{Kind::real, above_up_to(0, kMostCounted)}},
       .fallback = "1",
       .doc = "arrival times are divided by this: 2 = twice the rate"},
      {.path = section + ".limit",
       .accepts = {{Kind::integer, between(1, 4e9)}},
       .words = {{"none", "the whole trace"}},
       .fallback = "none",
       .doc = "requests to take from the front"},
      {.path = section + ".reorder_window",
       .accepts = {{Kind::integer, between(0, kMostCounted)}},
       .fallback = "65536",
       .doc = "rows out of order are put back if at most this many rows late"},
      {.path = section + ".bad_lengths",
       .words = {{"drop", "leave the row out and count it"},
                 {"keep", "keep rows whose output is 0 as prefill only; drop and count the others"},
                 {"fail", "stop with the row's place"}},
       .fallback = "drop",
       .doc = "what to do with rows whose lengths are zero, negative or missing"},
      {.path = section + ".max_bad_rows",
       .accepts = {{Kind::integer, between(0, kMostCounted)}},
       .fallback = "0",
       .doc = "malformed rows left out and counted before reading fails"},
      {.path = section + ".header",
       .accepts = {Kind::boolean},
       .fallback = "true",
       .doc = "false: a CSV without header, with the columns of the named format in its order"},
      {.path = section + ".untimed",
       .words = {{"refuse", "stop with the row's place"},
                 {"keep", "rows of a session arrive when it began, others at the start"}},
       .fallback = "refuse",
       .doc = "what to do with rows that have no time of their own"},
      {.path = section + ".hash_block",
       .accepts = {{Kind::integer, between(1, 1'000'000)}},
       .words = {{"auto", "as the format has it"}},
       .fallback = "auto",
       .doc = "tokens that one of the trace's hash_ids stands for"},
      {.path = section + ".partial_ids",
       .words = {{"auto", "as the format has it"},
                 {"ceil", "one for every begun block"},
                 {"floor", "one for every full block"},
                 {"either", "both"}},
       .fallback = "auto",
       .doc = "which counts of hash_ids are right for a prompt"},
  };
}

Keys length_keys(const std::string& section, const Vocabulary& names, const std::string& what) {
  return {
      {.path = section + ".distribution",
       .words = names.length_distributions,
       .required_in = section,
       .doc = "how " + what + " are drawn"},
      {.path = section + ".mean", .accepts = {{Kind::real, above_up_to(0, kMostCounted)}}, .doc = "mean, in tokens"},
      {.path = section + ".cv",
       .accepts = {{Kind::real, between(0, 100)}},
       .doc = "coefficient of variation: standard deviation / mean"},
      {.path = section + ".low", .accepts = {{Kind::tokens, kAtLeastOne}}, .doc = "shortest"},
      {.path = section + ".high", .accepts = {{Kind::tokens, kAtLeastOne}}, .doc = "longest"},
      {.path = section + ".value", .accepts = {{Kind::tokens, kAtLeastOne}}, .doc = "the one length"},
      {.path = section + ".max", .accepts = {{Kind::tokens, kAtLeastOne}}, .doc = "longer draws become this long"},
  };
}

Keys generate_keys(const Vocabulary& names) {
  Keys keys{
      {.path = "workload.generate.requests",
       .accepts = {{Kind::integer, between(1, 4e9)}},
       .required_in = "workload.generate",
       .doc = "how many",
       .aliases = {"num_prompts", "num_requests"}},
      {.path = "workload.generate.arrivals.process",
       .words = names.arrival_processes,
       .fallback = "poisson",
       .doc = "how gaps between arrivals are drawn"},
      {.path = "workload.generate.arrivals.rate",
       .accepts = {{Kind::rate, above_up_to(0, kMostCounted)}},
       .required_in = "workload.generate",
       .doc = "mean rate of arrivals",
       .aliases = {"request_rate", "qps"}},
  };
  append(keys, {{.path = "workload.generate.prefix.groups",
                 .accepts = {{Kind::integer, between(1, 1e7)}},
                 .fallback = "1",
                 .doc = "shared beginnings of prompts (system prompts, documents)"},
                {.path = "workload.generate.prefix.tokens",
                 .accepts = {{Kind::tokens, kAtLeastOne}},
                 .required_in = "workload.generate.prefix",
                 .doc = "tokens of a shared beginning, counted in prompt_tokens"},
                {.path = "workload.generate.prefix.zipf",
                 .accepts = {{Kind::real, between(0, 10)}},
                 .fallback = "0",
                 .doc = "the g-th beginning is drawn in proportion to 1 / g^zipf"}});
  append(keys, {{.path = "workload.generate.n",
                 .accepts = {{Kind::integer, between(1, 256)}},
                 .fallback = "1",
                 .doc = "sequences that each request becomes after its prompt, each of output_tokens tokens"},
                {.path = "workload.generate.lengths.distribution",
                 .words = {{"histogram", "a CSV with a row a cell: ranges of prompt and output, count, means"}},
                 .required_in = "workload.generate.lengths",
                 .doc = "how prompts and outputs are drawn together, in place of prompt_tokens and output_tokens"},
                {.path = "workload.generate.lengths.file",
                 .accepts = {Kind::file},
                 .required_in = "workload.generate.lengths",
                 .doc = "the histogram"},
                {.path = "workload.generate.lengths.max_total",
                 .accepts = {{Kind::tokens, between(2, kMostCounted)}},
                 .doc = "longest prompt + output: of a longer draw the output is cut"}});
  append(keys, length_keys("workload.generate.prompt_tokens", names, "prompt lengths"));
  append(keys, length_keys("workload.generate.output_tokens", names, "output lengths"));
  return keys;
}

Keys sample_keys() {
  return {
      {.path = "workload.n",
       .accepts = {{Kind::integer, between(1, 256)}},
       .words = {{"recorded", "what the trace or the generator says, else 1"}},
       .fallback = "recorded",
       .doc = "sequences that each request becomes after its prompt, with one copy of its blocks (paged)",
       .aliases = {"num_samples", "parallel_samples", "best_of", "beam_width"}},
      {.path = "workload.decoding",
       .words = {{"sample", "n independent samples"},
                 {"beam_search", "n beams: each takes over the past of a beam of the step before"}},
       .fallback = "sample",
       .doc = "what the n sequences of a request are"},
      {.path = "workload.beam_switch",
       .accepts = {{Kind::real, between(0, 1)}},
       .fallback = "1",
       .doc = "probability that a beam goes on from any of the request's beams, drawn alike, not from its own"},
  };
}

Keys max_tokens_keys(const Vocabulary& names) {
  return {
      {.path = "workload.max_tokens.rule",
       .words = names.max_tokens_rules,
       .fallback = "true_length",
       .doc = "what requests declare as the most they will generate"},
      {.path = "workload.max_tokens.value",
       .accepts = {{Kind::tokens, kAtLeastOne}},
       .doc = "the declaration under `constant`"},
      {.path = "workload.max_tokens.factor",
       .accepts = {{Kind::real, above_up_to(0, 1e6)}},
       .doc = "declaration / true length under `factor`"},
  };
}

}  // namespace

Keys workload_keys(const Vocabulary& names) {
  Keys keys = trace_keys(names);
  append(keys, generate_keys(names));
  append(keys, sample_keys());
  append(keys, max_tokens_keys(names));
  return keys;
}

}  // namespace blockyard::scenario
