#include "sim/workload/slo_classes.h"

#include <algorithm>
#include <utility>

#include "sim/base/random.h"

namespace blockyard::workload {
namespace {

constexpr const char* kStream = "slo_classes";

class SloClasses final : public RequestSource {
 public:
  SloClasses(std::unique_ptr<RequestSource> source, const std::vector<SloClassRule>& classes, std::uint64_t seed,
             const TraceSource* named_by)
      : source_(std::move(source)), classes_(classes), seed_(seed), named_by_(named_by), stream_(seed, kStream) {
    double sum = 0;
    for (const SloClassRule& rule : classes_) weights_.push_back(sum += rule.weight);
  }

  std::size_t read(std::span<Request> out) override {
    const std::size_t count = source_->read(out);
    for (Request& request : out.first(count)) request.slo_class = static_cast<std::uint8_t>(class_of(request));
    return count;
  }

 private:
  std::size_t class_of(const Request& request) {
    if (const std::size_t named = of_category(request.category); named != 0) return named;
    const auto names_it = [&](const SloClassRule& rule) {
      return std::ranges::any_of(rule.tenants, [&](const SloClassRule::Tenants& of) {
        return of.first <= request.tenant && request.tenant <= of.last;
      });
    };
    const auto at = std::ranges::find_if(classes_, names_it);
    if (at != classes_.end()) return static_cast<std::size_t>(at - classes_.begin()) + 1;
    if (weights_.back() == 0) return 0;
    if (request.session == 0) return draw(stream_);
    // As classes.cc does: any odd multiplier keeps sessions apart.
    RandomStream stream(seed_ + std::uint64_t{request.session} * 0x9e3779b97f4a7c15ULL, kStream);
    return draw(stream);
  }

  // Names are met as the trace is read.
  std::size_t of_category(std::uint16_t category) {
    if (category == 0 || named_by_ == nullptr) return 0;
    const std::vector<std::string>& names = named_by_->report().categories;
    for (std::size_t i = of_category_.size(); i < names.size(); ++i) {
      const auto at = std::ranges::find_if(
          classes_, [&](const SloClassRule& rule) { return !rule.category.empty() && rule.category == names[i]; });
      of_category_.push_back(at == classes_.end() ? 0 : static_cast<std::size_t>(at - classes_.begin()) + 1);
    }
    return category < of_category_.size() ? of_category_[category] : 0;
  }

  [[nodiscard]] std::size_t draw(RandomStream& stream) const {
    const double at = stream.uniform() * weights_.back();
    // A class of weight 0 ends where it begins, and is not met.
    return static_cast<std::size_t>(std::ranges::upper_bound(weights_, at) - weights_.begin()) + 1;
  }

  std::unique_ptr<RequestSource> source_;
  std::vector<SloClassRule> classes_;
  std::uint64_t seed_;
  const TraceSource* named_by_;
  RandomStream stream_;
  std::vector<double> weights_;           // cumulative
  std::vector<std::size_t> of_category_;  // class of each category met, 0 = none
};

}  // namespace

std::unique_ptr<RequestSource> with_slo_classes(std::unique_ptr<RequestSource> source,
                                                const std::vector<SloClassRule>& classes, std::uint64_t seed,
                                                const TraceSource* named_by) {
  return std::make_unique<SloClasses>(std::move(source), classes, seed, named_by);
}

}  // namespace blockyard::workload
