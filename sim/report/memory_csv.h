// memory.csv: a row for each change of the KV pool (base/memory_change.h), in the order in which they happened.
// Columns: time, whose memory, what was done, the tokens it brought or gave back, and the bytes in each state after it.
// Written as it happens, under another name, and put in place with the run's other files. Cost: about 0.5 us a row.
#pragma once

#include <filesystem>

#include "sim/base/memory_change.h"
#include "sim/base/pending_file.h"

namespace blockyard::report {

class MemoryCsv {
 public:
  static constexpr const char* kFileName = "memory.csv";

  explicit MemoryCsv(const std::filesystem::path& folder);

  // `piece`: bytes of a piece of the partition.
  void add(SimTime now, const MemoryChange& change, Bytes piece);
  void close();   // everything is written
  void commit();  // after close()

 private:
  PendingFile file_;
};

}  // namespace blockyard::report
