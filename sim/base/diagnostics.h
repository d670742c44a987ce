// Wrong input, with its place: `file:line:column: what was found, what was expected, did you mean ...`.
// Readers collect diagnostics and go on, so that the user sees every error at once; InputError carries them to main
// (exit 2).
#pragma once

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace blockyard {

// Lines and columns count from 1; 0 = not known (a whole file, a command line).
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

struct Diagnostic {
  Place place;
  std::string message;
  // Each word is right, but it asks for more than there is: a study of many variants leaves this one out.
  bool does_not_fit = false;
};

[[nodiscard]] std::string to_string(const Place& place);            // "chat.yaml:14:5"
[[nodiscard]] std::string to_string(const Diagnostic& diagnostic);  // "chat.yaml:14:5: message"

class InputError : public std::exception {
 public:
  explicit InputError(std::vector<Diagnostic> diagnostics);
  InputError(Place place, std::string message);

  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }
  // Nothing else is wrong than that it does not fit.
  [[nodiscard]] bool only_does_not_fit() const;
  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }  // one diagnostic a line

 private:
  std::vector<Diagnostic> diagnostics_;
  std::string text_;
};

class Diagnostics {
 public:
  void add(Place place, std::string message) { list_.push_back({std::move(place), std::move(message)}); }
  void add_does_not_fit(Place place, std::string message) {
    list_.push_back({std::move(place), std::move(message), true});
  }
  void add_all(const InputError& error) {
    list_.insert(list_.end(), error.diagnostics().begin(), error.diagnostics().end());
  }
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] const std::vector<Diagnostic>& list() const { return list_; }
  void throw_if_any() const {
    if (!list_.empty()) throw InputError(list_);
  }

 private:
  std::vector<Diagnostic> list_;
};

// The candidate nearest to `word` (Damerau-Levenshtein, ignoring case) if near enough to be a slip of the hand; else
// the shortest that begins with it, if it has three letters or more; else "".
[[nodiscard]] std::string nearest_name(std::string_view word, std::span<const std::string> candidates);

// `; did you mean "block_size"?` or "": to be appended to a message.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string> candidates);

}  // namespace blockyard
