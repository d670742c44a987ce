// Where a JSON value that begins with { or [ ends, looked for piece by piece: brackets outside strings are counted, all
// else is the parser's. O(1) a byte.
#pragma once

#include <cstddef>
#include <string_view>

namespace blockyard::workload {

class JsonNesting {
 public:
  // Bytes of `text` up to the value's end, or npos if it goes on.
  std::size_t end_in(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const char c = text[i];
      if (in_string_) {
        if (escaped_) {
          escaped_ = false;
        } else if (c == '\\') {
          escaped_ = true;
        } else if (c == '"') {
          in_string_ = false;
        }
      } else if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if ((c == '}' || c == ']') && --depth_ <= 0) {
        return i + 1;
      }
    }
    return std::string_view::npos;
  }

  [[nodiscard]] bool closed() const { return depth_ <= 0; }

 private:
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

}  // namespace blockyard::workload
