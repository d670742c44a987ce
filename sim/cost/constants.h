// All constants that decide how long something takes, and the table of those that a measured server can correct: by the
// name that `calibrate --fit` and a calibration file give them.
#pragma once

#include <span>
#include <string_view>

#include "sim/cost/calibration.h"
#include "sim/cost/engine_time.h"

namespace blockyard::cost {

struct Constants {
  Calibration calibration;
  EngineTime engine;
  Seconds front_end_s = 0;
};

// A share of a peak (1 = all of it), or a time in seconds.
enum class ConstantKind { share, time };

struct ConstantDoc {
  std::string_view name;
  ConstantKind kind;
  double low;  // what a fit may make of it
  double high;
  std::string_view doc;
  double& (*of)(Constants& constants);
};

[[nodiscard]] std::span<const ConstantDoc> constant_docs();

}  // namespace blockyard::cost
