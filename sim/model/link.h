// A link between a GPU and its host: what copying KV over it costs. Blocks are pieces: each is copied on its own, so
// that small ones are slow (Kwon et al., SOSP 2023, sec. 7.3 and fig. 19). Per GPU; a group copies over all its links
// at once.
#pragma once

#include "sim/base/quantities.h"

namespace blockyard::model {

struct LinkSpec {
  double bytes_per_s = 0;  // each way
  Seconds latency_s = 0;   // of a copy of any number of pieces
  Seconds per_piece_s = 0;
  bool shared = false;  // the two directions share bytes_per_s
};

}  // namespace blockyard::model
