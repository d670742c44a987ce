// Requests of a population of clients, all together. Each client is a generator of its own (generator.h: its arrivals,
// lengths, beginnings, sessions), or one of ServeGen's measured clients (servegen_client.h); a line of the list may
// stand for many that are alike but for their rates, the g-th in proportion to 1 / g^zipf. Few clients of many make
// most of the load and most of its bursts (Xiang et al., ServeGen, 2025, sec. 3), which one process with one
// distribution of lengths cannot show.
//
// Rates: a client's own, times rate_scale; or in proportion to them, so that the mean rates add up to a total; or by
// share of the total, where only the ratio of its own rates counts (of a burst's to the mean). A session counts once. A
// curve has no mean rate, and spikes are of whole requests: these take neither total nor share.
//
// Laws: arrivals never decrease, and the first is at 0; every process was going on before, so that over any time the
// expected number of requests is the sum of the clients'; what a client sends follows from the seed and its place in
// the list, and no client behind it shifts it. Sessions and beginnings of two lines are never the same. A client of
// ServeGen ends with its windows, whose times are its own; lengths of 0 in its tables become 1.
//
// Cost: O(log clients) a request. Memory: O(clients); of ServeGen, its files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "sim/workload/generator.h"
#include "sim/workload/request.h"

namespace blockyard::workload {

struct ClientSpec {
  GeneratorSpec own;               // requests, seed and classes are not looked at
  std::filesystem::path servegen;  // a <chunk>-trace.csv, or a folder of them, each a client; in place of `own`
  std::optional<double> share{};  // of the total rate, in proportion to the others' shares; all lines have one, or none
  std::int64_t count = 1;         // so many clients, which share beginnings
  double zipf = 0;                // of their rates; 0 = all alike
  std::optional<std::uint32_t> tenant{};  // of all of them; none: each its number in the whole population, from 1
  std::int32_t priority = 0;
};

struct MixtureSpec {
  std::int64_t requests = 0;
  std::uint64_t seed = 0;
  std::optional<double> rate_per_s{};  // the total
  double rate_scale = 1;               // without a total
  std::vector<ClientSpec> clients;
};

// InputError lists everything wrong, by line: "clients[2].arrivals: rate: ...".
[[nodiscard]] std::unique_ptr<RequestSource> make_mixture(const MixtureSpec& spec);

}  // namespace blockyard::workload
