#include "sim/workload/survey.h"

#include <array>

namespace blockyard::workload {

Survey survey(RequestSource& source, const ReadReport& read, ContentStore& contents, Tokens max_model_len) {
  TraceMeter trace;
  PrefixMeter prefixes;
  JointLengths lengths(max_model_len);
  std::array<Request, 256> requests;
  while (const std::size_t count = source.read(requests)) {
    const auto some = std::span(requests).first(count);
    if (read.hash_block > 0) prefixes.set_block(Tokens(read.hash_block));
    trace.add(some);
    prefixes.add(some, contents);
    lengths.add(some);
    for (const Request& request : some) {
      if (request.content != ContentId::none) contents.drop(request.content);
    }
  }
  return {trace.statistics(), prefixes.statistics(), lengths};
}

}  // namespace blockyard::workload
