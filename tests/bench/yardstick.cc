// The yardstick of the benchmark: a plain loop that parses a CSV of requests (arrival_s,prompt_tokens,output_tokens)
// and adds up its columns, nothing else. How long a simulation takes is told in multiples of it, so that figures of
// different machines can be compared. Never to be improved: a faster yardstick would make every earlier figure wrong.
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

struct Sums {
  std::int64_t rows = 0;
  std::int64_t arrival_ns = 0;  // of the last row
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;
};

std::int64_t whole_number(const char*& at) {
  std::int64_t number = 0;
  for (; *at >= '0' && *at <= '9'; ++at) number = 10 * number + (*at - '0');
  return number;
}

std::int64_t nanoseconds(const char*& at) {
  std::int64_t number = whole_number(at) * 1'000'000'000;
  if (*at != '.') return number;
  ++at;
  for (std::int64_t unit = 100'000'000; *at >= '0' && *at <= '9'; ++at, unit /= 10) number += unit * (*at - '0');
  return number;
}

// `at` points at a NUL-terminated text of rows, each with a newline at its end.
Sums add_up(const char* at) {
  Sums sums;
  while (*at != '\0') {
    sums.arrival_ns = nanoseconds(at);
    ++at;
    sums.prompt_tokens += whole_number(at);
    ++at;
    sums.output_tokens += whole_number(at);
    while (*at != '\n' && *at != '\0') ++at;
    if (*at == '\n') ++at;
    ++sums.rows;
  }
  return sums;
}

}  // namespace

int main(int argc, char** argv) {
  std::FILE* const file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
  if (file == nullptr) {
    std::fprintf(stderr, "usage: yardstick FILE.csv (which has to exist)\n");
    return 2;
  }
  std::vector<char> text;
  std::size_t size = 0;
  for (std::size_t got = 1; got > 0; size += got) {
    text.resize(size + (std::size_t{1} << 20));
    got = std::fread(text.data() + size, 1, text.size() - size - 1, file);
  }
  std::fclose(file);
  text[size] = '\0';

  const char* at = text.data();
  while (*at != '\n' && *at != '\0') ++at;  // the header
  if (*at == '\n') ++at;
  const Sums sums = add_up(at);
  std::printf("%lld rows, last arrival %lld ns, %lld prompt tokens, %lld output tokens\n",
              static_cast<long long>(sums.rows), static_cast<long long>(sums.arrival_ns),
              static_cast<long long>(sums.prompt_tokens), static_cast<long long>(sums.output_tokens));
  return 0;
}
