#include "sim/workload/generator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "sim/base/check.h"
#include "sim/workload/classes.h"
#include "sim/workload/sessions.h"
#include "sim/workload/trace_lengths.h"
#include "sim/workload/write_trace.h"

namespace blockyard::workload {
namespace {

// Keeps every sum of gaps below 64 bits of ns: an exponential gap is at most 37 times its mean (53-bit draws); those of
// a high CV can be far longer, for which check_cv asks a higher rate.
constexpr double kLongestSpanSeconds = 1e8;
constexpr std::int64_t kMostGroups = 10'000'000;

template <class Entry>
const Entry* find(std::span<const Entry> table, std::string_view name) {
  const auto at = std::find_if(table.begin(), table.end(), [&](const Entry& entry) { return entry.name == name; });
  return at == table.end() ? nullptr : &*at;
}

template <class Entry>
std::string unknown_name(std::span<const Entry> table, std::string_view what, const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : table) names.emplace_back(entry.name);
  return fmt::format("unknown {} \"{}\"{}", what, name, did_you_mean(name, names));
}

void check_length(const LengthSpec& spec, std::string_view what, Diagnostics& errors) {
  const LengthEntry* const entry = find(length_distributions(), spec.distribution);
  Diagnostics found;
  if (entry == nullptr) {
    found.add({}, unknown_name(length_distributions(), "distribution", spec.distribution));
  } else {
    entry->check(spec, found);
  }
  if (spec.max && *spec.max < Tokens(1)) {
    found.add({}, fmt::format("max: found {}, expected 1 token or more", spec.max->count()));
  }
  for (const Diagnostic& error : found.list()) errors.add({}, fmt::format("{}: {}", what, error.message));
}

void check_prefix(const PrefixSpec& spec, Diagnostics& errors) {
  if (spec.groups < 1 || spec.groups > kMostGroups) {
    errors.add({}, fmt::format("prefix: groups: found {}, expected 1 to {}", spec.groups, kMostGroups));
  }
  if (spec.tokens < Tokens(1))
    errors.add({}, fmt::format("prefix: tokens: found {}, expected 1 or more", spec.tokens.count()));
  if (!(spec.zipf >= 0 && spec.zipf <= 10))
    errors.add({}, fmt::format("prefix: zipf: found {}, expected 0 to 10", spec.zipf));
}

void check(const GeneratorSpec& spec) {
  Diagnostics errors;
  if (spec.requests < 0) errors.add({}, fmt::format("requests: found {}, expected 0 or more", spec.requests));
  const ArrivalEntry* const arrivals = find(arrival_processes(), spec.arrivals.process);
  if (arrivals == nullptr) {
    errors.add({}, "arrivals: " + unknown_name(arrival_processes(), "process", spec.arrivals.process));
  } else {
    Diagnostics found;
    arrivals->check(spec.arrivals, found);
    for (const Diagnostic& error : found.list()) errors.add({}, "arrivals: " + error.message);
    const double rate = spec.arrivals.curve.empty() ? spec.arrivals.rate_per_s : spec.arrivals.curve.back().rate_per_s;
    if (static_cast<double>(spec.requests) / rate > kLongestSpanSeconds) {
      errors.add({}, fmt::format("arrivals: {} requests at {} req/s take more than {} s", spec.requests, rate,
                                 kLongestSpanSeconds));
    }
  }
  if (!spec.lengths) {
    check_length(spec.prompt_tokens, "prompt_tokens", errors);
    check_length(spec.output_tokens, "output_tokens", errors);
  }
  if (spec.samples < 1 || spec.samples > kMostSamples)
    errors.add({}, fmt::format("n: found {}, expected 1 to {}", spec.samples, kMostSamples));
  if (spec.prefix) check_prefix(*spec.prefix, errors);
  if (spec.sessions) {
    check_sessions(*spec.sessions, errors);
    if (spec.lengths)
      errors.add({},
                 "lengths: drawn together they are of single requests; sessions take prompt_tokens and output_tokens");
    if (spec.sessions->next_tokens) check_length(*spec.sessions->next_tokens, "sessions: next_tokens", errors);
  }
  check_classes(spec.classes, errors);
  errors.throw_if_any();
}

std::int64_t checked_requests(const GeneratorSpec& spec) {
  check(spec);
  return spec.requests;
}

}  // namespace

std::unique_ptr<LengthDistribution> make_length(const LengthSpec& spec) {
  return find(length_distributions(), spec.distribution)->make(spec);
}

std::shared_ptr<JointLengthDistribution> make_lengths_of(const JointLengthSpec& spec) {
  return spec.from_trace ? make_trace_lengths(spec) : make_joint_lengths(spec);
}

Generator::Generator(const GeneratorSpec& spec, std::shared_ptr<JointLengthDistribution> lengths)
    : left_(checked_requests(spec)),
      arrivals_(find(arrival_processes(), spec.arrivals.process)->make(spec.arrivals)),
      prompt_(spec.lengths ? nullptr : make_length(spec.prompt_tokens)),
      output_(spec.lengths ? nullptr : make_length(spec.output_tokens)),
      lengths_(lengths != nullptr || !spec.lengths ? std::move(lengths) : make_lengths_of(*spec.lengths)),
      arrival_stream_(spec.seed, "arrivals"),
      prompt_stream_(spec.seed, "prompt_tokens"),
      output_stream_(spec.seed, "output_tokens"),
      lengths_stream_(spec.seed, "lengths"),
      prefix_stream_(spec.seed, "prefix"),
      samples_(spec.samples) {
  if (!spec.prefix) return;
  prefix_tokens_ = spec.prefix->tokens;
  double sum = 0;
  for (std::int64_t group = 1; group <= spec.prefix->groups; ++group) {
    sum += std::pow(static_cast<double>(group), -spec.prefix->zipf);
    prefix_shares_.push_back(sum);
  }
}

std::unique_ptr<RequestSource> make_generator(const GeneratorSpec& spec,
                                              std::shared_ptr<JointLengthDistribution> lengths) {
  check(spec);
  std::unique_ptr<RequestSource> made;
  if (spec.sessions) {
    made = std::make_unique<Sessions>(spec);
  } else {
    made = std::make_unique<Generator>(spec, std::move(lengths));
  }
  return spec.classes.empty() ? std::move(made) : with_classes(std::move(made), spec.classes, spec.seed);
}

std::size_t Generator::read(std::span<Request> out) {
  constexpr std::size_t kDraws = 256;
  std::array<SimTime, kDraws> times;
  std::array<Tokens, kDraws> prompts;
  std::array<Tokens, kDraws> outputs;
  const std::size_t count = std::min({out.size(), kDraws, static_cast<std::size_t>(left_)});
  arrivals_->draw(arrival_stream_, std::span(times).first(count));
  if (lengths_ != nullptr) {
    lengths_->draw(lengths_stream_, std::span(prompts).first(count), std::span(outputs).first(count));
  } else {
    prompt_->draw(prompt_stream_, std::span(prompts).first(count));
    output_->draw(output_stream_, std::span(outputs).first(count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = Request{};
    out[i].arrival = times[i];
    out[i].prompt_tokens = prompts[i];
    out[i].output_tokens = outputs[i];
    out[i].max_tokens = outputs[i];
    out[i].samples = samples_;
    if (prefix_shares_.empty()) continue;
    const double draw = prefix_stream_.uniform() * prefix_shares_.back();
    const auto group = std::upper_bound(prefix_shares_.begin(), prefix_shares_.end() - 1, draw);
    out[i].prefix = static_cast<std::uint32_t>(group - prefix_shares_.begin()) + 1;
    out[i].prefix_tokens = static_cast<std::int32_t>(std::min(prefix_tokens_, prompts[i]).count());
  }
  left_ -= static_cast<std::int64_t>(count);
  return count;
}

void generate_to_file(const GeneratorSpec& spec, const std::string& path) {
  CHECK_LAW(!spec.sessions && spec.classes.empty(), "sessions and classes of {} are not written", path);
  Generator generator(spec);
  OutputOptions output;
  output.fields =
      (spec.samples > 1 ? fields::kSamples : fields::kNone) | (spec.prefix ? fields::kBeginning : fields::kNone);
  const Written written = write_trace(generator, path, output);
  CHECK_LAW(written.lost.empty(), "{} is not written", written.lost.front().first);
}

}  // namespace blockyard::workload
