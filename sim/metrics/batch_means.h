// How well a run of correlated values knows its mean: batch means. The values are cut into batches of equal size, long
// enough that their means hardly know of each other; Student's t of the batch means gives the confidence interval. From
// 20 to 39 batches; at 40 neighbours are joined, so that batches grow with the run.
// Source: Law & Kelton, Simulation Modeling and Analysis, sec. 9.5.3. O(1) a value.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace blockyard::metrics {

class BatchMeans {
 public:
  static constexpr std::size_t kFewest = 20;

  // True if a batch has become full: only then is there something new.
  bool add(double value);
  [[nodiscard]] std::int64_t batch_size() const { return size_; }
  // Of all full batches; none before there are 20.
  [[nodiscard]] std::optional<double> mean() const;
  // Half the width of the 95 % confidence interval over |mean|; none likewise, or for a mean of 0.
  [[nodiscard]] std::optional<double> relative_half_width() const;

 private:
  std::vector<double> means_;
  std::int64_t size_ = 16;
  std::int64_t filled_ = 0;
  double sum_ = 0;
};

}  // namespace blockyard::metrics
