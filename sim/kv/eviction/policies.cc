#include "sim/kv/eviction/policies.h"

#include <array>

#include "sim/kv/eviction/arc.h"
#include "sim/kv/eviction/clock.h"
#include "sim/kv/eviction/fifo.h"
#include "sim/kv/eviction/gdsf.h"
#include "sim/kv/eviction/leaf_lru.h"
#include "sim/kv/eviction/lfu.h"
#include "sim/kv/eviction/lru.h"
#include "sim/kv/eviction/lru_k.h"
#include "sim/kv/eviction/mru.h"
#include "sim/kv/eviction/opt.h"
#include "sim/kv/eviction/queue_aware.h"
#include "sim/kv/eviction/random.h"
#include "sim/kv/eviction/s3_fifo.h"
#include "sim/kv/eviction/sieve.h"
#include "sim/kv/eviction/slru.h"
#include "sim/kv/eviction/ttl.h"
#include "sim/kv/eviction/two_q.h"
#include "sim/kv/eviction/w_tinylfu.h"
#include "sim/kv/eviction/workload_aware.h"

namespace blockyard::kv {
namespace {

template <class Policy>
constexpr EvictionRow row(const char* name, const char* doc) {
  return {name, doc, Policy::kInclusive, Policy::kNeedsFuture, requires(Policy policy){policy.want(kNoKey);
}
, requires(Policy policy) { policy.expire(SimTime()); },
    [](const PolicyOptions& options) -> std::unique_ptr<Eviction> {
      return std::make_unique<EvictionOf<Policy>>(options);
    },
    run_cache<Policy>
};  // namespace
}  // namespace blockyard::kv

constexpr std::array kPolicies{
    row<Lru>("lru", "the engine's own order: let go longest ago, deepest block first"),
    row<Fifo>("fifo", "entered first"),
    row<Mru>("mru", "let go last"),
    row<Lfu>("lfu", "asked for least often, with dynamic ageing (Arlitt et al., PER 2000)"),
    row<Clock>("clock", "entered first, with a second chance (Corbato 1968)"),
    row<LruK>("lru_k", "last but one use furthest back (O'Neil et al., SIGMOD 1993)"),
    row<TwoQ>("2q", "a queue for newcomers before the main list (Johnson & Shasha, VLDB 1994)"),
    row<Slru>("slru", "probation and protected segments (Karedla et al., IEEE Computer 1994)"),
    row<Arc>("arc", "recency and frequency, balanced by ghosts (Megiddo & Modha, FAST 2003)"),
    row<S3Fifo>("s3_fifo", "small, main and ghost queues (Yang et al., SOSP 2023)"),
    row<Sieve>("sieve", "lazy promotion, quick demotion (Zhang et al., NSDI 2024)"),
    row<WTinyLfu>("w_tinylfu", "a window, and admission by frequency (Einziger et al., TOS 2017)"),
    row<Gdsf>("gdsf", "lowest count x cost of computing it again (Cherkasova, HPL 1998)"),
    row<LeafLru>("leaf_lru", "lru among the leaves of the prefix tree (Zheng et al., 2023)"),
    row<Ttl>("ttl", "unused for longer than a lifetime, else lru"),
    row<Random>("random", "any, as a control"),
    row<QueueAware>("queue_aware", "lru, sparing what waiting requests will ask for (vLLM RFC 48485)"),
    row<WorkloadAware>("workload_aware", "least chance of reuse by category of requests (Wang et al., ATC 2025)"),
    row<Opt>("opt", "needed again furthest in the future: the bound (Belady 1966)"),
};

}  // namespace

std::span<const EvictionRow> eviction_policies() { return kPolicies; }

NameDocs evictions() {
  NameDocs docs;
  for (const EvictionRow& row : kPolicies) docs.push_back({row.name, row.doc});
  return docs;
}

const EvictionRow* find_eviction(std::string_view name) {
  for (const EvictionRow& row : kPolicies) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

}  // namespace blockyard::kv
