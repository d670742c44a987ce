// Which replica a request is let in to, decided once, as it comes to the engine. A router sees loads, never requests or
// memory. Law: it names one of the replicas it is shown. Cost: O(replicas) a request.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "sim/base/named.h"
#include "sim/base/quantities.h"

namespace blockyard::serving {

// Requests of a replica that have no seat, and that have one.
struct ReplicaLoad {
  std::int64_t waiting = 0;
  std::int64_t running = 0;

  [[nodiscard]] std::int64_t unfinished() const { return waiting + running; }
};

class Router {
 public:
  Router() = default;
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;
  virtual ~Router() = default;

  // `loads`: of each replica at this instant.
  [[nodiscard]] virtual std::size_t route(std::span<const ReplicaLoad> loads) = 0;
  // Some know only what engines publish, each time so long has passed; kNever: not this one.
  [[nodiscard]] virtual SimTime publishes_every() const { return kNever; }
  // What was published: of each replica its load as its last step ended.
  virtual void published(std::span<const ReplicaLoad> /*loads*/) {}
};

struct RouterEntry {
  std::string_view name;
  std::string_view doc;
  std::unique_ptr<Router> (*make)(std::size_t replicas);
};

[[nodiscard]] NameDocs routers();
// By a name of the table.
[[nodiscard]] std::unique_ptr<Router> make_router(std::string_view name, std::size_t replicas);

}  // namespace blockyard::serving
