#include <memory>
#include <string>
#include <utility>

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

Keys arrival_keys(const std::string& section, const Vocabulary& names) {
  const Accept rate{Kind::rate, above_up_to(0, kMostCounted)};
  const Accept stretch{Kind::time, above_up_to(0, 1e7)};
  return {
      {.path = section + ".process",
       .words = names.arrival_processes,
       .fallback = "poisson",
       .doc = "how gaps between arrivals are drawn"},
      {.path = section + ".rate",
       .accepts = {rate},
       .doc = "mean rate of arrivals over a long time",
       .aliases = {"request_rate", "qps"}},
      {.path = section + ".cv",
       .accepts = {{Kind::real, between(0.01, 30)}},
       .doc = "of the gaps: standard deviation / mean; 1 = as Poisson",
       .aliases = {"burstiness"}},
      {.path = section + ".burst_rate", .accepts = {rate}, .doc = "rate within a burst, at least the mean rate"},
      {.path = section + ".burst", .accepts = {stretch}, .doc = "length of a burst"},
      {.path = section + ".quiet", .accepts = {stretch}, .doc = "time from the end of a burst to the next one"},
      {.path = section + ".period", .accepts = {stretch}, .doc = "of the daily curve; between two spikes"},
      {.path = section + ".amplitude",
       .accepts = {{Kind::real, between(0, 1)}},
       .doc = "of the daily curve, as a share of the mean rate: 1 = nobody comes at night"},
      {.path = section + ".peak",
       .accepts = {{Kind::time, between(0, 1e7)}},
       .fallback = "0 s",
       .doc = "when the daily curve is highest"},
      {.path = section + ".spike_requests", .accepts = {{Kind::integer, between(1, 1e6)}}, .doc = "in one spike"},
      {.path = section + ".spike_length",
       .accepts = {{Kind::time, between(0, 1e7)}},
       .fallback = "0 s",
       .doc = "time over which the requests of a spike come"},
      {.path = section + ".curve",
       .accepts = {Kind::text},
       .doc = "rates from given times on: \"0 s: 2 req/s, 10 min: 8 req/s\""},
  };
}

Keys session_keys(const std::string& section, const Vocabulary& names) {
  Keys keys{
      {.path = section + ".turns",
       .accepts = {{Kind::real, between(1, 1e6)}},
       .required_in = section,
       .doc = "mean number of requests in a session; workload.generate.requests counts them, arrivals are of sessions"},
      {.path = section + ".spread",
       .words = {{"geometric", "memoryless: after each turn the same chance of another"},
                 {"constant", "always the mean, a fraction rounded up with its own probability"}},
       .fallback = "geometric",
       .doc = "how the numbers of turns are spread"},
      {.path = section + ".delay",
       .accepts = {{Kind::time, between(0, 1e6)}},
       .fallback = "0 s",
       .doc = "mean time from an answer to the next turn: a user's thinking, an agent's tool",
       .aliases = {"tool_wait"}},
      {.path = section + ".delay_cv",
       .accepts = {{Kind::real, between(0, 30)}},
       .fallback = "1",
       .doc = "of the delay: 0 = always the mean, 1 = exponential; gamma"},
      {.path = section + ".max_context",
       .accepts = {{Kind::tokens, between(2, kMostCounted)}},
       .doc = "a turn whose prompt + output would be longer ends its session"},
  };
  append(keys, length_keys(section + ".next_tokens", names, "the tokens that a later turn adds"));
  return keys;
}

// What one who sends is made of: of workload.generate, and of each of its clients. `base` ends with a point, or is "".
Keys source_keys(const std::string& base, const Vocabulary& names) {
  Keys keys = arrival_keys(base + "arrivals", names);
  append(keys, session_keys(base + "sessions", names));
  append(keys, {{.path = base + "prefix.groups",
                 .accepts = {{Kind::integer, between(1, 1e7)}},
                 .fallback = "1",
                 .doc = "shared beginnings of prompts (system prompts, documents)"},
                {.path = base + "prefix.tokens",
                 .accepts = {{Kind::tokens, kAtLeastOne}},
                 .required_in = base + "prefix",
                 .doc = "tokens of a shared beginning, counted in prompt_tokens"},
                {.path = base + "prefix.zipf",
                 .accepts = {{Kind::real, between(0, 10)}},
                 .fallback = "0",
                 .doc = "the g-th beginning is drawn in proportion to 1 / g^zipf"},
                {.path = base + "n",
                 .accepts = {{Kind::integer, between(1, 256)}},
                 .fallback = "1",
                 .doc = "sequences that each request becomes after its prompt, each of output_tokens tokens"},
                {.path = base + "lengths.distribution",
                 .words = {{"histogram", "a CSV with a row a cell: ranges of prompt and output, count, means"},
                           {"trace", "the rows of a trace of any format, all alike"}},
                 .required_in = base + "lengths",
                 .doc = "how prompts and outputs are drawn together, in place of prompt_tokens and output_tokens"},
                {.path = base + "lengths.file",
                 .accepts = {Kind::file},
                 .required_in = base + "lengths",
                 .doc = "the histogram, or the trace"},
                {.path = base + "lengths.max_total",
                 .accepts = {{Kind::tokens, between(2, kMostCounted)}},
                 .doc = "longest prompt + output: of a longer draw the output is cut"}});
  append(keys, length_keys(base + "prompt_tokens", names, "prompt lengths"));
  append(keys, length_keys(base + "output_tokens", names, "output lengths"));
  return keys;
}

Schema client_items(const Vocabulary& names) {
  Keys keys{
      {.path = "share",
       .accepts = {{Kind::real, above_up_to(0, 1e9)}},
       .doc = "of workload.generate.rate, in proportion to the shares of the others; its own rates are scaled to it"},
      {.path = "count",
       .accepts = {{Kind::integer, between(1, 100'000)}},
       .fallback = "1",
       .doc = "so many clients like this one, who share its rate and its beginnings",
       .aliases = {"num_clients"}},
      {.path = "zipf",
       .accepts = {{Kind::real, between(0, 10)}},
       .fallback = "0",
       .doc = "of `count` clients the g-th has a rate in proportion to 1 / g^zipf"},
      {.path = "tenant",
       .accepts = {{Kind::integer, between(0, 4294967295.0)}},
       .doc = "of all of them; without it each client is a tenant of its own, numbered from 1 through all the list"},
      {.path = "priority",
       .accepts = {{Kind::integer, between(-2147483648.0, 2147483647)}},
       .fallback = "0",
       .doc = "of their requests; smaller = more urgent"},
      {.path = "servegen",
       .accepts = {Kind::path},
       .doc = "a measured client of ServeGen, its <chunk>-trace.csv, or a folder of them; in place of all below"},
  };
  append(keys, source_keys("", names));
  return {"client", std::move(keys)};
}

Keys generate_keys(const Vocabulary& names) {
  Keys keys{
      {.path = "workload.generate.requests",
       .accepts = {{Kind::integer, between(1, 4e9)}},
       .required_in = "workload.generate",
       .doc = "how many",
       .aliases = {"num_prompts", "num_requests"}},
      {.path = "workload.generate.clients",
       .doc = "a population of clients who send together, each with arrivals, lengths, beginnings and sessions of its "
              "own, in place of all of those here",
       .items = std::make_shared<const Schema>(client_items(names))},
      {.path = "workload.generate.rate",
       .accepts = {{Kind::rate, above_up_to(0, kMostCounted)}},
       .doc = "what the mean rates of all clients are to add up to"},
      {.path = "workload.generate.rate_scale",
       .accepts = {{Kind::real, above_up_to(0, kMostCounted)}},
       .fallback = "1",
       .doc = "all rates of all clients are multiplied by this"},
  };
  append(keys,
         {{.path = "workload.generate.classes",
           .accepts = {Kind::text},
           .doc = "tenants 1, 2, ... by weight, with priorities: \"weight 3, priority 0; weight 1, priority 10\""}});
  append(keys, source_keys("workload.generate.", names));
  return keys;
}

Keys client_keys() {
  const std::string section = "workload.clients";
  return {
      {.path = section + ".mode",
       .words = {{"auto",
                  "users if their number is given; sessions if the trace states delays after answers; else open"},
                 {"open", "every request at its recorded time, whatever the answers"},
                 {"sessions", "a request with a delay is sent that long after the answer before it in its session"},
                 {"users", "a given number of users, who each send, wait for the answer, think, and send the next"}},
       .fallback = "auto",
       .doc = "do clients wait for answers?"},
      {.path = section + ".max_concurrency",
       .accepts = {{Kind::integer, between(1, kMostCounted)}},
       .words = {{"unlimited", "everybody sends when due"}},
       .fallback = "unlimited",
       .doc = "requests out at once; clients hold the others back"},
      {.path = section + ".users",
       .accepts = {{Kind::integer, between(1, kMostCounted)}},
       .doc = "how many, in the mode users",
       .aliases = {"concurrency", "num_users"}},
      {.path = section + ".think_time",
       .accepts = {{Kind::time, between(0, 1e9)}},
       .fallback = "0 s",
       .doc = "mean time from an answer to the user's next request"},
      {.path = section + ".think_cv",
       .accepts = {{Kind::real, between(0, 30)}},
       .fallback = "0",
       .doc = "of the think time: 0 = always the mean, 1 = exponential; gamma"},
      {.path = section + ".delay_scale",
       .accepts = {{Kind::real, between(0, kMostCounted)}},
       .fallback = "1",
       .doc = "the delays after an answer that the workload states are multiplied by this"},
  };
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
      {.path = "workload.max_tokens.noise_cv",
       .accepts = {{Kind::real, between(0, 10)}},
       .fallback = "0",
       .doc = "of a log-normal noise of mean 1 on the factor: an imperfect guess; a guess that is too short cuts the "
              "output"},
  };
}

}  // namespace

Keys workload_keys(const Vocabulary& names) {
  Keys keys = trace_keys(names);
  append(keys, generate_keys(names));
  append(keys, client_keys());
  append(keys, sample_keys());
  append(keys, max_tokens_keys(names));
  return keys;
}

}  // namespace blockyard::scenario
