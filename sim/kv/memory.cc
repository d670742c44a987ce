#include "sim/kv/memory.h"

#include "sim/base/check.h"

namespace blockyard::kv {

void Memory::tell_listener(MemoryOperation operation, SequenceId id, Tokens tokens) {
  CHECK_LAW(index_of(id) < owners_.size(), "sequence {} belongs to nobody", index_of(id));
  listener_({operation, owners_[index_of(id)], tokens, partition()});
}

}  // namespace blockyard::kv
