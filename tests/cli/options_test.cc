#include "sim/cli/options.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "sim/base/diagnostics.h"

using namespace blockyard;
using namespace blockyard::cli;

namespace {

struct Parsed {
  Options options{"blockyard run", "simulate"};
  std::ostringstream out;
  std::ostringstream err;

  Parsed() {
    options.words("SCENARIO", 1, 1, "a YAML file");
    options.values("set", "KEY=VALUE", "change a key");
    options.value("out", "DIR", "write files");
    options.flag("json", "print JSON");
  }
  bool parse(const Arguments& arguments) { return options.parse(arguments, {out, err}); }
};

std::string problem(const Arguments& arguments) {
  Parsed parsed;
  try {
    static_cast<void>(parsed.parse(arguments));
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("options stand before, between and behind words") {
  Parsed parsed;
  REQUIRE(parsed.parse({"--set", "a=1", "chat.yaml", "--set=b=x=2", "--json", "--out", "dir"}));
  CHECK(parsed.options.words() == std::vector<std::string>{"chat.yaml"});
  CHECK(parsed.options.values_of("set") == std::vector<std::string>{"a=1", "b=x=2"});
  CHECK(parsed.options.value_of("out") == "dir");
  CHECK(parsed.options.has("json"));
}

TEST_CASE("what is not given has no value") {
  Parsed parsed;
  REQUIRE(parsed.parse({"chat.yaml"}));
  CHECK_FALSE(parsed.options.has("json"));
  CHECK(parsed.options.value_of("out") == std::nullopt);
  CHECK(parsed.options.values_of("set").empty());
}

TEST_CASE("a lone - is a word: standard input") {
  Parsed parsed;
  REQUIRE(parsed.parse({"-"}));
  CHECK(parsed.options.words() == std::vector<std::string>{"-"});
}

TEST_CASE("behind -- everything is a word") {
  Parsed parsed;
  REQUIRE(parsed.parse({"--", "--json"}));
  CHECK(parsed.options.words() == std::vector<std::string>{"--json"});
}

TEST_CASE("a mistyped option names the nearest") {
  CHECK(problem({"chat.yaml", "--jsno"}) == "blockyard run: no option \"--jsno\"; did you mean \"--json\"?");
  CHECK(problem({"chat.yaml", "--ou", "x"}) == "blockyard run: no option \"--ou\"; did you mean \"--out\"?");
}

TEST_CASE("an abbreviation is not guessed: it would change its meaning when an option is added") {
  CHECK(problem({"chat.yaml", "--js"}).find("no option \"--js\"") != std::string::npos);
}

TEST_CASE("wrong use of an option is told, with the command") {
  CHECK(problem({"chat.yaml", "--out"}).starts_with("blockyard run: "));
  CHECK(problem({"chat.yaml", "--out"}).find("--out") != std::string::npos);
  CHECK(problem({"chat.yaml", "--out", "a", "--out", "b"}).find("more than once") != std::string::npos);
  CHECK(problem({"chat.yaml", "--json=yes"}).find("--json") != std::string::npos);
}

TEST_CASE("too few and too many words are told") {
  CHECK(problem({}) == "blockyard run: SCENARIO is missing: a YAML file");
  CHECK(problem({"a.yaml", "b.yaml"}) == "blockyard run: \"b.yaml\" is one word too many (one SCENARIO is expected)");
}

TEST_CASE("help is printed to out, asks for no words and names every option") {
  Parsed parsed;
  REQUIRE_FALSE(parsed.parse({"--help"}));
  const std::string text = parsed.out.str();
  CHECK(text.find("usage: blockyard run SCENARIO [--set KEY=VALUE]... [--out DIR] [--json] [--help]") !=
        std::string::npos);
  for (const char* option : {"--set KEY=VALUE", "--out DIR", "--json", "SCENARIO: a YAML file"}) {
    CHECK(text.find(option) != std::string::npos);
  }
  CHECK(parsed.err.str().empty());
}

TEST_CASE("help keeps to 100 columns, breaks between options and leaves no space at a line's end") {
  Options options("blockyard run", "simulate a scenario");
  for (const char* name : {"first", "second", "third", "fourth", "fifth", "sixth"}) {
    options.value(name, "SOMETHING", "a text that is long enough for the library to break it into two lines or three");
  }
  std::ostringstream out;
  std::ostringstream err;
  REQUIRE_FALSE(options.parse({"--help"}, {out, err}));
  std::istringstream lines(out.str());
  std::size_t usage_lines = 0;
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    CHECK(line.size() <= 100);
    CHECK_FALSE(line.ends_with(' '));
    if (line.find("[--") == std::string::npos) continue;
    ++usage_lines;
    CHECK(line.ends_with(']'));
  }
  CHECK(usage_lines == 2);
}
