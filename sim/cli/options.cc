#include "sim/cli/options.h"

#include <fmt/format.h>

#include <charconv>
#include <ostream>
#include <sstream>
#include <utility>

#include "sim/base/diagnostics.h"

namespace blockyard::cli {

namespace po = boost::program_options;

namespace {

constexpr const char* kWords = "\x01words";  // no one can type it
constexpr std::size_t kColumns = 100;

// The pieces behind `line`, on as many lines as they need; a piece is never broken.
std::string in_lines(std::string line, const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) {
    if (line.size() + 1 + piece.size() > kColumns) {
      text += line + "\n";
      line = "      ";
    }
    line += " " + piece;
  }
  return text + line + "\n";
}

// The library leaves a space at the end of the lines that it breaks.
std::string without_trailing_spaces(const std::string& text) {
  std::string stripped;
  for (const char c : text) {
    if (c == '\n') stripped.erase(stripped.find_last_not_of(' ') + 1);
    stripped += c;
  }
  return stripped;
}

}  // namespace

Options::Options(std::string command, std::string doc) : command_(std::move(command)), doc_(std::move(doc)) {}

void Options::flag(const std::string& name, const std::string& doc) {
  options_.add_options()(name.c_str(), doc.c_str());
  names_.push_back("--" + name);
  usage_.push_back(fmt::format("[--{}]", name));
}

void Options::value(const std::string& name, const std::string& meta, const std::string& doc) {
  options_.add_options()(name.c_str(), po::value<std::string>()->value_name(meta), doc.c_str());
  const std::string word = name.substr(0, name.find(','));
  names_.push_back("--" + word);
  usage_.push_back(word == name ? fmt::format("[--{} {}]", name, meta) : fmt::format("[-{} {}]", name.back(), meta));
}

void Options::values(const std::string& name, const std::string& meta, const std::string& doc) {
  options_.add_options()(name.c_str(), po::value<std::vector<std::string>>()->value_name(meta)->composing(),
                         doc.c_str());
  names_.push_back("--" + name);
  usage_.push_back(fmt::format("[--{} {}]...", name, meta));
}

void Options::words(const std::string& meta, std::size_t least, std::size_t most, const std::string& doc) {
  words_meta_ = meta;
  words_doc_ = doc;
  least_words_ = least;
  most_words_ = most;
}

bool Options::parse(const Arguments& arguments, Streams streams) {
  flag("help", "this text");
  po::options_description all;
  all.add(options_).add_options()(kWords, po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add(kWords, -1);
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(arguments).options(all).positional(positional).style(style).run(), parsed_);
  } catch (const po::unknown_option& error) {
    fail(fmt::format("no option \"{}\"{}", error.get_option_name(), did_you_mean(error.get_option_name(), names_)));
  } catch (const po::error& error) {
    fail(error.what());
  }
  if (has("help")) {
    streams.out << help();
    return false;
  }
  words_ = values_of(kWords);
  check_word_count();
  return true;
}

std::optional<std::string> Options::value_of(const std::string& name) const {
  if (!has(name)) return std::nullopt;
  return parsed_[name].as<std::string>();
}

std::vector<std::string> Options::values_of(const std::string& name) const {
  if (!has(name)) return {};
  return parsed_[name].as<std::vector<std::string>>();
}

std::int64_t Options::count_of(const std::string& name, Diagnostics& errors) const {
  const std::optional<std::string> text = value_of(name);
  if (!text) return 0;
  const char* const last = text->data() + text->size();
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text->data(), last, count);
  if (error != std::errc() || end != last || count < 0)
    errors.add(place(), fmt::format("--{}: expected a whole number from 0 on, found \"{}\"", name, *text));
  return count;
}

void Options::fail(std::string message) const { throw InputError({command_, 0, 0}, std::move(message)); }

std::string Options::help() const {
  std::ostringstream text;
  std::string words;
  if (most_words_ > 0) {
    const std::string word = least_words_ > 0 ? words_meta_ : "[" + words_meta_ + "]";
    words = " " + word + (most_words_ > 1 ? "..." : "");
  }
  text << fmt::format("{}: {}\n\n{}", command_, doc_, in_lines(fmt::format("usage: {}{}", command_, words), usage_));
  if (most_words_ > 0) text << fmt::format("\n{}: {}\n", words_meta_, words_doc_);
  text << '\n' << options_;
  if (!epilogue_.empty()) text << '\n' << epilogue_ << '\n';
  return without_trailing_spaces(text.str());
}

void Options::check_word_count() const {
  if (words_.size() < least_words_) fail(fmt::format("{} is missing: {}", words_meta_, words_doc_));
  if (words_.size() > most_words_) {
    fail(fmt::format("\"{}\" is one word too many{}", words_[most_words_],
                     most_words_ == 0 ? "" : fmt::format(" (one {} is expected)", words_meta_)));
  }
}

}  // namespace blockyard::cli
