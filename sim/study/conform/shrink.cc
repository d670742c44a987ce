#include "sim/study/conform/shrink.h"

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "sim/base/diagnostics.h"
#include "sim/study/conform/workload_edit.h"

namespace blockyard::study {
namespace {

class Shrinker {
 public:
  Shrinker(const Record& record, const Reference& reference)
      : file_(record.file), reference_(&reference), header_(record.header) {}

  std::optional<Shrunk> run() {
    if (!accept(header_)) return std::nullopt;
    for (bool smaller = true; smaller;) {
      smaller = drop_requests();
      smaller = drop_aborts() || smaller;
      smaller = drop_tokens() || smaller;
    }
    return Shrunk{std::move(best_), tries_};
  }

 private:
  bool accept(const Json& header) {
    ++tries_;
    std::optional<Record> run = (*reference_)(read_header(header, file_));
    if (!run || !replay(*run, StepPath::fast).difference) return false;
    header_ = header;
    best_ = std::move(*run);
    return true;
  }

  [[nodiscard]] std::size_t requests() const { return header_["requests"].size(); }

  bool drop_requests() {
    bool smaller = false;
    for (std::size_t count = (requests() + 1) / 2; count > 0; count /= 2) {
      // From the back: what arrives last is needed least.
      for (std::size_t end = requests(); end >= count && requests() > count;) {
        if (accept(without_requests(header_, end - count, count))) smaller = true;
        end -= count;
      }
    }
    return smaller;
  }

  bool drop_aborts() {
    bool smaller = false;
    for (std::size_t i = header_.contains("aborts") ? header_["aborts"].size() : 0; i-- > 0;) {
      if (accept(without_abort(header_, i))) smaller = true;
    }
    return smaller;
  }

  bool drop_tokens() {
    bool smaller = false;
    for (std::size_t i = 0; i < requests(); ++i) {
      const auto prompt = [&](std::int64_t tokens) { return with_prompt(header_, i, tokens); };
      const auto output = [&](std::int64_t tokens) { return with_max_tokens(header_, i, tokens); };
      smaller = lower(prompt_of(header_["requests"][i]), prompt) || smaller;
      smaller = lower(max_tokens_of(header_["requests"][i]), output) || smaller;
    }
    return smaller;
  }

  // Lowers a number by ever smaller pieces, down to one.
  template <class With>
  bool lower(std::int64_t number, const With& with) {
    bool smaller = false;
    for (std::int64_t piece = number / 2; piece > 0; piece /= 2) {
      while (number - piece >= 1 && accept(with(number - piece))) {
        number -= piece;
        smaller = true;
      }
    }
    return smaller;
  }

  std::string file_;
  const Reference* reference_;
  Json header_;
  Record best_;
  std::int64_t tries_ = 0;
};

}  // namespace

Reference reference_general_path(std::int64_t step_limit) {
  return [step_limit](const Record& header) { return run_header(header, StepPath::general, step_limit); };
}

Reference reference_program(std::string command, std::string scratch_file) {
  return [command = std::move(command),
          scratch_file = std::move(scratch_file)](const Record& header) -> std::optional<Record> {
    const std::string answer = scratch_file + ".run";
    std::ofstream(scratch_file) << header.header.dump() << '\n';
    const std::string line = command + " '" + scratch_file + "' > '" + answer + "'";
    std::optional<Record> run;
    if (std::system(line.c_str()) == 0) {
      try {
        run = read_record(answer);
      } catch (const InputError&) {
        run.reset();  // no run that can be read: the workload is of no use
      }
    }
    std::remove(scratch_file.c_str());
    std::remove(answer.c_str());
    return run;
  };
}

std::optional<Shrunk> shrink(const Record& record, const Reference& reference) {
  return Shrinker(record, reference).run();
}

}  // namespace blockyard::study
