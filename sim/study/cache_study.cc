#include "sim/study/cache_study.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "sim/study/parallel.h"

namespace blockyard::study {
namespace {

struct Sample {
  kv::ReferenceString references;
  kv::ReuseDistances lru;
};

kv::CacheRunOptions at_capacity(const CacheStudy& study, std::int64_t capacity) {
  kv::CacheRunOptions options = study.options;
  options.capacity = capacity;
  return options;
}

CacheResult sampled_result(const kv::ReferenceString& references, const kv::ReuseDistances& lru,
                           const std::vector<Sample>& samples, const CacheStudy& study, const kv::EvictionRow& policy,
                           std::int64_t capacity) {
  const double share = *study.sample_share;
  std::vector<double> gains;  // over lru, in blocks of the whole
  for (const Sample& sample : samples) {
    const std::int64_t scaled = std::max<std::int64_t>(1, std::llround(static_cast<double>(capacity) * share));
    const std::int64_t hits =
        kv::run_cache_with_rules(policy, study.rules, sample.references, at_capacity(study, scaled)).hit_blocks;
    gains.push_back(static_cast<double>(hits - sample.lru.hit_blocks(scaled)) / share);
  }
  const auto n = static_cast<double>(gains.size());
  double mean = 0;
  for (const double gain : gains) mean += gain / n;
  double squares = 0;
  for (const double gain : gains) squares += (gain - mean) * (gain - mean);

  CacheResult result{&policy, capacity, {}, std::sqrt(squares / (n - 1) / n)};
  const double blocks =
      std::clamp(static_cast<double>(lru.hit_blocks(capacity)) + mean, 0.0, static_cast<double>(lru.reused_blocks()));
  result.counts.hit_blocks = std::llround(blocks);
  const double tokens =
      static_cast<double>(lru.hit_tokens(capacity)) +
      (blocks - static_cast<double>(lru.hit_blocks(capacity))) * static_cast<double>(references.block_size().count());
  result.counts.hit_tokens = std::llround(std::clamp(tokens, 0.0, static_cast<double>(lru.reused_tokens())));
  return result;
}

}  // namespace

std::vector<CacheResult> run_cache_study(const kv::ReferenceString& references, const kv::ReuseDistances& lru,
                                         const CacheStudy& study) {
  std::vector<Sample> samples;
  if (study.sample_share) {
    for (std::uint64_t salt = 1; salt <= kSamples; ++salt) {
      kv::ReferenceString sample = references.sampled(*study.sample_share, salt);
      kv::ReuseDistances distances(sample);
      samples.push_back({std::move(sample), std::move(distances)});
    }
  }
  std::vector<CacheResult> results(study.policies.size() * study.capacities.size());
  for_each_index(results.size(), study.jobs, [&](std::size_t i) {
    const kv::EvictionRow& policy = *study.policies[i / study.capacities.size()];
    const std::int64_t capacity = study.capacities[i % study.capacities.size()];
    results[i] =
        study.sample_share
            ? sampled_result(references, lru, samples, study, policy, capacity)
            : CacheResult{&policy,
                          capacity,
                          kv::run_cache_with_rules(policy, study.rules, references, at_capacity(study, capacity)),
                          {}};
  });
  return results;
}

std::vector<SharedAtDepth> shared_by_depth(const kv::ReferenceString& references) {
  std::vector<SharedAtDepth> depths;
  std::vector<bool> said(references.contents());
  for (const auto& request : references.requests()) {
    const auto ids = references.ids(request);
    bool found = true;
    for (std::uint32_t i = 0; i < request.ids; ++i) {
      const auto row = static_cast<std::size_t>(std::bit_width(i + 1U) - 1);  // blocks 0, 1-2, 3-6, 7-14, ...
      if (row >= depths.size()) depths.resize(row + 1);
      found = found && i < request.looked_up && said[ids[i]];
      const std::int64_t tokens = references.tokens(request, i + 1) - references.tokens(request, i);
      depths[row].prompts += std::has_single_bit(i + 1U) ? 1 : 0;
      depths[row].tokens += tokens;
      depths[row].shared_tokens += found ? tokens : 0;
    }
    for (std::uint32_t i = 0; i < request.kept; ++i) said[ids[i]] = true;
  }
  for (std::size_t row = 0; row < depths.size(); ++row) {
    depths[row].first_block = (std::int64_t{1} << row) - 1;
    depths[row].end_block = (std::int64_t{2} << row) - 1;
  }
  return depths;
}

}  // namespace blockyard::study
