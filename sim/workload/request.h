// A request as the client sends it. `output_tokens` is what it will really generate; `max_tokens` what it declared (>=
// output_tokens unless the declaration cuts it). Small and plain: a saturated run keeps a million of them waiting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/base/quantities.h"

namespace blockyard::workload {

// Names the prompt's content in a ContentStore (content_store.h); none = the trace says nothing of it.
enum class ContentId : std::uint32_t { none = UINT32_MAX };

inline constexpr SimTime kAtArrival{-1};                  // Request::delay of a client that waits for no answer
inline constexpr std::int32_t kWholeSession = INT32_MAX;  // Request::reused_tokens of a trace that sets no limit
// More sequences of one request are a slip of the keyboard.
inline constexpr std::int32_t kMostSamples = 256;

struct Request {
  SimTime arrival;
  Tokens prompt_tokens;
  Tokens output_tokens;
  Tokens max_tokens;
  std::int32_t priority = 0;  // smaller = more urgent
  std::uint32_t tenant = 0;
  // 0 = none; a prompt begins with all that its session has said before, as far as it reaches.
  std::uint32_t session = 0;
  ContentId content = ContentId::none;
  std::uint32_t prefix = 0;  // the prompt's first prefix_tokens are those of every request with this prefix
  std::int32_t prefix_tokens = 0;
  // Of what its session has said before, the prompt repeats at most this much (an agent's context is cut, or edited).
  std::int32_t reused_tokens = kWholeSession;
  std::uint16_t category = 0;  // what kind of request, a name in ReadReport::categories; 0 = not said
  std::uint8_t slo_class = 0;  // of the scenario's slo.classes, from 1 (slo_classes.h); 0 = none
  // Closed loop, if >= 0: the client sends it this long after the previous request of its session has ended. `arrival`
  // is then when it was recorded, or in a trace without such times when its session began.
  SimTime delay = kAtArrival;
  // Sequences that it becomes after its prompt (parallel samples, or beams), each of output_tokens tokens: the API's n.
  std::int32_t samples = 1;
};

// A stream of requests in order of arrival (equal times in file order). Readers, generators and edits are sources;
// spans keep the virtual call off the single row.
class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // Fills the front of `out`; returns how many, 0 = the end. Throws InputError on a bad row.
  virtual std::size_t read(std::span<Request> out) = 0;
};

}  // namespace blockyard::workload
