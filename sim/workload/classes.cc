#include "sim/workload/classes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace blockyard::workload {
namespace {

constexpr std::size_t kMostClasses = 10'000;

class Classes final : public RequestSource {
 public:
  Classes(std::unique_ptr<RequestSource> source, const std::vector<ClassSpec>& classes, std::uint64_t seed)
      : source_(std::move(source)), classes_(classes), seed_(seed), stream_(seed, "classes") {
    double sum = 0;
    for (const ClassSpec& c : classes_) shares_.push_back(sum += c.weight);
  }

  std::size_t read(std::span<Request> out) override {
    const std::size_t count = source_->read(out);
    for (Request& request : out.first(count)) {
      const std::size_t index = request.session == 0 ? draw(stream_) : of_session(request.session);
      request.tenant = static_cast<std::uint32_t>(index + 1);
      request.priority = classes_[index].priority;
    }
    return count;
  }

 private:
  [[nodiscard]] std::size_t draw(RandomStream& stream) const {
    const double at = stream.uniform() * shares_.back();
    return static_cast<std::size_t>(std::upper_bound(shares_.begin(), shares_.end() - 1, at) - shares_.begin());
  }

  [[nodiscard]] std::size_t of_session(std::uint32_t session) const {
    // Any odd multiplier keeps sessions apart; the stream's own seeding mixes.
    RandomStream stream(seed_ + std::uint64_t{session} * 0x9e3779b97f4a7c15ULL, "classes");
    return draw(stream);
  }

  std::unique_ptr<RequestSource> source_;
  std::vector<ClassSpec> classes_;
  std::uint64_t seed_;
  RandomStream stream_;
  std::vector<double> shares_;  // cumulative
};

}  // namespace

void check_classes(const std::vector<ClassSpec>& classes, Diagnostics& errors) {
  if (classes.size() > kMostClasses)
    errors.add({}, fmt::format("classes: found {}, expected {} or fewer", classes.size(), kMostClasses));
  for (std::size_t i = 0; i < classes.size(); ++i) {
    if (classes[i].weight > 0 && classes[i].weight <= 1e9) continue;
    errors.add(
        {}, fmt::format("classes: class {}: weight: found {}, expected above 0, up to 1e9", i + 1, classes[i].weight));
  }
}

std::unique_ptr<RequestSource> with_classes(std::unique_ptr<RequestSource> source,
                                            const std::vector<ClassSpec>& classes, std::uint64_t seed) {
  return std::make_unique<Classes>(std::move(source), classes, seed);
}

}  // namespace blockyard::workload
