// Writes requests as Blockyard CSV (grammar: formats/blockyard_csv.h). Law: reading the file back gives the same
// requests, to the nanosecond, once the first arrives at 0. The file appears whole or not at all.
#pragma once

#include <string>

#include "sim/workload/request.h"

namespace blockyard::workload {

// lengths: arrival, prompt and output only, for sources whose other fields are all at their defaults (a checked law);
// all: every column but n, for sources that never ask for more than one sample (likewise); all_and_n: every column.
enum class CsvColumns { lengths, all, all_and_n };

// Reads the source to its end. Throws InputError where the file cannot be written (or the source does).
void write_csv(RequestSource& source, const std::string& path, CsvColumns columns = CsvColumns::all);

}  // namespace blockyard::workload
