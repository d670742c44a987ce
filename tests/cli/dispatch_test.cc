#include "sim/cli/dispatch.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "sim/cli/commands.h"

using namespace blockyard;
using namespace blockyard::cli;

namespace {

struct Outcome {
  ExitStatus status;
  std::string out;
  std::string err;
};

Outcome blockyard_with(const Arguments& arguments) {
  std::ostringstream out;
  std::ostringstream err;
  const ExitStatus status = run_command_line(arguments, {out, err});
  return {status, out.str(), err.str()};
}

}  // namespace

TEST_CASE("without a command the usage goes to err, with the status of wrong usage") {
  const Outcome outcome = blockyard_with({});
  CHECK(outcome.status == ExitStatus::bad_input);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.find("usage: blockyard COMMAND") != std::string::npos);
}

TEST_CASE("help lists every command with its line") {
  for (const Arguments& arguments : {Arguments{"--help"}, Arguments{"-h"}, Arguments{"help"}}) {
    const Outcome outcome = blockyard_with(arguments);
    CHECK(outcome.status == ExitStatus::done);
    CHECK(outcome.err.empty());
    for (const Command& command : commands()) {
      CHECK(outcome.out.find(std::string(command.name)) != std::string::npos);
      CHECK(outcome.out.find(std::string(command.doc)) != std::string::npos);
    }
  }
}

TEST_CASE("every command has help of its own, by --help and by `help COMMAND`") {
  for (const Command& command : commands()) {
    const Outcome by_option = blockyard_with({std::string(command.name), "--help"});
    const Outcome by_word = blockyard_with({"help", std::string(command.name)});
    INFO(command.name);
    CHECK(by_option.status == ExitStatus::done);
    CHECK(by_option.out.find("usage: blockyard " + std::string(command.name)) != std::string::npos);
    CHECK(by_option.out == by_word.out);
  }
  CHECK(blockyard_with({"help", "trace", "info"}).out == blockyard_with({"trace", "info", "--help"}).out);
}

TEST_CASE("an unknown command names the nearest one") {
  const Outcome outcome = blockyard_with({"comapre", "x.yaml"});
  CHECK(outcome.status == ExitStatus::bad_input);
  CHECK(outcome.out.empty());
  CHECK(outcome.err.starts_with("blockyard: no command \"comapre\"; did you mean \"compare\"? (commands: run, "));
  CHECK(blockyard_with({"trace", "inof"})
            .err.starts_with("blockyard trace: no command \"inof\"; did you mean \"info\"?"));
}

TEST_CASE("the option --version prints name and number") {
  const Outcome outcome = blockyard_with({"--version"});
  CHECK(outcome.status == ExitStatus::done);
  CHECK(outcome.out.starts_with("blockyard "));
  CHECK(outcome.out.back() == '\n');
}
