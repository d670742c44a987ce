// What one command accepts: declared once, it makes the usage line, the --help text and the parser. Wrong usage is an
// InputError whose place is the command ("blockyard run: ..."), with the nearest option for a slip of the hand.
#pragma once

#include <boost/program_options.hpp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/diagnostics.h"
#include "sim/cli/command.h"

namespace blockyard::cli {

class Options {
 public:
  Options(std::string command, std::string doc);

  // A name may be followed by a letter: "out,o" is --out and -o.
  void flag(const std::string& name, const std::string& doc);
  void value(const std::string& name, const std::string& meta, const std::string& doc);   // at most once
  void values(const std::string& name, const std::string& meta, const std::string& doc);  // any number of times
  // The words that are no options: between `least` and `most` of them, called `meta`.
  void words(const std::string& meta, std::size_t least, std::size_t most, const std::string& doc);
  void epilogue(std::string text) { epilogue_ = std::move(text); }  // shown below the options in --help

  // False: help was asked for and is printed. Throws InputError for wrong usage.
  [[nodiscard]] bool parse(const Arguments& arguments, Streams streams);

  [[nodiscard]] bool has(const std::string& name) const { return parsed_.count(name) > 0; }
  [[nodiscard]] std::optional<std::string> value_of(const std::string& name) const;
  [[nodiscard]] std::vector<std::string> values_of(const std::string& name) const;
  // 0 where it is not given; what is no whole number from 0 on is told.
  [[nodiscard]] std::int64_t count_of(const std::string& name, Diagnostics& errors) const;
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }  // "--json", ...

  [[nodiscard]] Place place() const { return {command_}; }  // of wrong usage
  [[noreturn]] void fail(std::string message) const;        // InputError with the command as its place

 private:
  [[nodiscard]] std::string help() const;
  void check_word_count() const;

  std::string command_;
  std::string doc_;
  std::string epilogue_;
  std::vector<std::string> usage_;  // "[--out DIR]", ...
  std::string words_meta_;
  std::string words_doc_;
  std::size_t least_words_ = 0;
  std::size_t most_words_ = 0;
  std::vector<std::string> names_;
  boost::program_options::options_description options_{"Options", 100};
  boost::program_options::variables_map parsed_;
  std::vector<std::string> words_;
};

}  // namespace blockyard::cli
