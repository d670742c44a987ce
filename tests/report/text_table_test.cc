#include "sim/report/text_table.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "tests/report/lines.h"

namespace blockyard::report {
namespace {

TEST_CASE("labels stand to the left, figures to the right, and no line ends in a space") {
  TextTable table;
  table.add({"a", "1"});
  table.add({"long", "22.50", ""});
  table.add({});
  table.add({"heading only"});
  CHECK(table.text() ==
        "a                 1\n"
        "long          22.50\n"
        "\n"
        "heading only\n");
}

TEST_CASE("columns are counted in characters, not bytes") {
  TextTable table;
  table.add({"größe", "1"});
  table.add({"abcde", "2"});
  CHECK(table.text() == "größe  1\nabcde  2\n");
  CHECK(table.width() == 8);
}

TEST_CASE("wrapped text keeps its words in order and its lines within the width") {
  CHECK(wrapped("label  ", "one two three", 14, "       ") == "label  one two\n       three\n");
  CHECK(wrapped("", "", 10, "") == "\n");
  CHECK(wrapped("", "incomprehensibilities fit", 10, "") == "incomprehensibilities\nfit\n");

  REQUIRE(rc::check("any words", [] {
    const auto words = *rc::gen::container<std::vector<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::elementOf(std::string("abcdefghij")))));
    const auto width = static_cast<std::size_t>(*rc::gen::inRange(4, 40));
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;

    std::string joined;
    for (const std::string& line : lines_of(wrapped("", text, width, "  "))) {
      const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
      const std::string content = line.substr(first);
      const bool one_word = content.find(' ') == std::string::npos;
      RC_ASSERT(one_word || line.size() <= width);
      joined += (joined.empty() ? "" : " ") + content;
    }
    RC_ASSERT(joined == text);
  }));
}

}  // namespace
}  // namespace blockyard::report
