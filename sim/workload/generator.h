// Requests drawn from distributions. The first arrives at 0, so that n requests have n - 1 gaps, as in a recorded
// trace. Streams: "arrivals", "prompt_tokens", "output_tokens", "lengths", "prefix" of the seed; changing one
// distribution never shifts another. Lengths are whole: a fraction is rounded up with its own probability, which keeps
// the mean exactly and adds at most 1/4 to the variance; then clamped to 1..max (a clamp that bites does move the
// mean). O(1) a request.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/base/random.h"
#include "sim/workload/arrivals/arrival_process.h"
#include "sim/workload/joint_length_distribution.h"
#include "sim/workload/request.h"

namespace blockyard::workload {

// Only the fields that the distribution's table line names are used.
struct LengthSpec {
  std::string distribution = "constant";  // a name in length_distributions()
  double mean = 0;
  double cv = 0;  // standard deviation / mean
  Tokens low{0};
  Tokens high{0};
  Tokens value{0};
  std::optional<Tokens> max;  // longer draws become this long
};

// Prompts that begin alike: each request draws one of `groups` shared beginnings (system prompts, documents) of
// `tokens` tokens, the g-th with a probability in proportion to 1 / g^zipf. A prompt shorter than its beginning is a
// part of it.
struct PrefixSpec {
  std::int64_t groups = 1;
  Tokens tokens{0};
  double zipf = 0;  // 0 = all alike
};

// Several turns a session (sessions.h).
struct SessionSpec {
  double turns = 1;                       // mean, 1 or more
  bool geometric = true;                  // false: always the mean
  SimTime delay;                          // mean, from an answer to the next turn
  double delay_cv = 1;                    // standard deviation / mean; 0 = always the mean
  std::optional<LengthSpec> next_tokens;  // what a later turn adds; none: as prompt_tokens
  std::optional<Tokens> max_context;      // a turn whose prompt + output would be longer ends its session
};

// Who sends: each session, or request without one, is of the k-th class with a probability in proportion to its weight;
// its tenant is k, from 1.
struct ClassSpec {
  double weight = 1;
  std::int32_t priority = 0;
};

struct GeneratorSpec {
  std::int64_t requests = 0;
  ArrivalSpec arrivals;
  LengthSpec prompt_tokens;
  LengthSpec output_tokens;
  std::optional<PrefixSpec> prefix;  // none: no prompt shares anything with another
  std::uint64_t seed = 0;
  std::optional<JointLengthSpec> lengths{};  // prompt and output drawn together, in place of the two above
  std::int32_t samples = 1;                  // of each request: 1 to kMostSamples
  std::optional<SessionSpec> sessions{};     // none: a request a session
  std::vector<ClassSpec> classes{};          // none: tenant 0, priority 0
};

class LengthDistribution {
 public:
  virtual ~LengthDistribution() = default;
  virtual void draw(RandomStream& stream, std::span<Tokens> out) = 0;
};

// A line of a table: the name a scenario may use, the spec fields (scenario keys) it needs, what is wrong with a spec
// (added to `errors` with an empty place), and the maker of a spec without errors.
template <class Spec, class Made>
struct GeneratorEntry {
  std::string_view name;
  std::string_view doc;
  std::span<const std::string_view> keys;
  void (*check)(const Spec& spec, Diagnostics& errors);
  std::unique_ptr<Made> (*make)(const Spec& spec);
};
using ArrivalEntry = GeneratorEntry<ArrivalSpec, ArrivalProcess>;
using LengthEntry = GeneratorEntry<LengthSpec, LengthDistribution>;

[[nodiscard]] std::span<const ArrivalEntry> arrival_processes();
[[nodiscard]] std::span<const LengthEntry> length_distributions();
[[nodiscard]] std::unique_ptr<LengthDistribution> make_length(const LengthSpec& spec);  // that has passed the checks

// The generator of a spec: Generator, or Sessions (sessions.h), and the classes. InputError lists everything wrong.
// `lengths`: those of spec.lengths, where they have been read already.
[[nodiscard]] std::unique_ptr<RequestSource> make_generator(const GeneratorSpec& spec,
                                                            std::shared_ptr<JointLengthDistribution> lengths = nullptr);
[[nodiscard]] std::shared_ptr<JointLengthDistribution> make_lengths_of(const JointLengthSpec& spec);

// Requests without sessions and classes.
class Generator final : public RequestSource {
 public:
  // InputError lists everything wrong with the spec.
  explicit Generator(const GeneratorSpec& spec, std::shared_ptr<JointLengthDistribution> lengths = nullptr);
  std::size_t read(std::span<Request> out) override;

 private:
  std::int64_t left_;
  std::unique_ptr<ArrivalProcess> arrivals_;
  std::unique_ptr<LengthDistribution> prompt_;
  std::unique_ptr<LengthDistribution> output_;
  std::shared_ptr<JointLengthDistribution> lengths_;  // in place of prompt_ and output_
  RandomStream arrival_stream_;
  RandomStream prompt_stream_;
  RandomStream output_stream_;
  RandomStream lengths_stream_;
  RandomStream prefix_stream_;
  std::int32_t samples_;
  Tokens prefix_tokens_;
  std::vector<double> prefix_shares_;  // cumulative, by group
};

// Writes the generated requests as Blockyard CSV with the three columns of lengths; with a prefix, all columns.
void generate_to_file(const GeneratorSpec& spec, const std::string& path);

}  // namespace blockyard::workload
