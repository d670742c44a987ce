#include "sim/workload/joint_length_distribution.h"

#include <unistd.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/workload/generator.h"

using namespace blockyard;
using namespace blockyard::workload;

namespace {

class HistogramFile {
 public:
  explicit HistogramFile(const std::string& text) {
    path_ = std::filesystem::temp_directory_path() / ("blockyard-histogram-" + std::to_string(::getpid()) + ".csv");
    std::ofstream(path_) << text;
  }
  HistogramFile(const HistogramFile&) = delete;
  HistogramFile& operator=(const HistogramFile&) = delete;
  ~HistogramFile() { std::filesystem::remove(path_); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string refusal(const std::string& text) {
  const HistogramFile file(text);
  try {
    (void)make_joint_lengths({file.path(), std::nullopt});
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const std::string kHeader = "prompt_from,prompt_to,output_from,output_to,count,mean_prompt,mean_output\n";

}  // namespace

TEST_CASE("draws fill the cells by their counts, with the cells' means") {
  // Columns in another order, one that means nothing here, a cell without requests.
  const HistogramFile file(
      "count,prompt_to,prompt_from,what,output_from,output_to,mean_output,mean_prompt\n"
      "300,9,1,x,100,199,120.5,8\n"
      "0,50,40,x,1,2,1,41\n"
      "100,30,20,x,5,5,5,25\n");
  const auto lengths = make_joint_lengths({file.path(), std::nullopt});
  RandomStream stream(3, "lengths");
  constexpr std::size_t kDraws = 40'000;
  std::vector<Tokens> prompts(kDraws);
  std::vector<Tokens> outputs(kDraws);
  lengths->draw(stream, prompts, outputs);
  double first = 0;
  double prompt_sum = 0;
  double output_sum = 0;
  for (std::size_t i = 0; i < kDraws; ++i) {
    const bool in_first = prompts[i] <= Tokens(9);
    if (in_first) {
      ++first;
      REQUIRE(prompts[i] >= Tokens(7));  // 7 to 9: what can be centred on 8
      REQUIRE(outputs[i] >= Tokens(100));
      REQUIRE(outputs[i] <= Tokens(141));
      prompt_sum += static_cast<double>(prompts[i].count());
      output_sum += static_cast<double>(outputs[i].count());
    } else {
      REQUIRE(prompts[i] >= Tokens(20));
      REQUIRE(prompts[i] <= Tokens(30));
      REQUIRE(outputs[i] == Tokens(5));
    }
  }
  CHECK(first / kDraws == Approx(0.75).margin(0.01));
  CHECK(prompt_sum / first == Approx(8).margin(0.02));
  CHECK(output_sum / first == Approx(120.5).margin(0.4));
}

TEST_CASE("a longest total cuts outputs and leaves one token") {
  const HistogramFile file(kHeader + "90,90,50,50,1,90,50\n120,120,50,50,1,120,50\n");
  const auto lengths = make_joint_lengths({file.path(), Tokens(100)});
  RandomStream stream(3, "lengths");
  std::vector<Tokens> prompts(100);
  std::vector<Tokens> outputs(100);
  lengths->draw(stream, prompts, outputs);
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    CHECK(outputs[i] == (prompts[i] == Tokens(90) ? Tokens(10) : Tokens(1)));
  }
}

TEST_CASE("a histogram that is none says what is wrong, line by line") {
  const std::string told = refusal(kHeader +
                                   "1,3,1,3,many,2,2\n"
                                   "5,4,1,3,1,4,2\n"
                                   "1,3,1,3,1,9,2\n"
                                   "1,3,1\n"
                                   "0,3,1,3,1,2,2\n");
  CHECK(told.find(":2:9: count: found \"many\"") != std::string::npos);
  CHECK(told.find(":3: prompt_from: found 5, above prompt_to: 4") != std::string::npos);
  CHECK(told.find(":4: mean_prompt: found 9, expected 1 to 3") != std::string::npos);
  CHECK(told.find(":5:1: found 3 fields, expected 7 as in the header") != std::string::npos);
  CHECK(told.find(":6:1: prompt_from: found \"0\", expected 1 or more") != std::string::npos);
  CHECK(refusal("prompt_from,prompt_too,output_from,output_to,count\n1,1,1,1,1\n").find("did you mean") !=
        std::string::npos);
  CHECK(refusal(kHeader).find("holds no counted request") != std::string::npos);
  CHECK(refusal("").find("is empty") != std::string::npos);
}

TEST_CASE("a generator of joint lengths and samples") {
  const HistogramFile file(kHeader + "1,3,1,3,1,2,2\n10,12,100,120,1,11,110\n");
  GeneratorSpec spec;
  spec.requests = 500;
  spec.seed = 4;
  spec.lengths = JointLengthSpec{file.path(), std::nullopt};
  spec.samples = 3;
  Generator generator(spec);
  std::vector<Request> requests(500);
  std::size_t count = 0;
  while (const std::size_t more = generator.read(std::span(requests).subspan(count))) {
    count += more;
    if (count == requests.size()) break;
  }
  REQUIRE(count == 500);
  for (const Request& r : requests) {
    CHECK(r.samples == 3);
    CHECK((r.prompt_tokens < Tokens(4)) == (r.output_tokens < Tokens(4)));
    CHECK(r.max_tokens == r.output_tokens);
  }
  spec.samples = 300;
  CHECK_THROWS_AS(Generator(spec), InputError);
}
