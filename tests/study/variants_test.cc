#include "sim/study/variants.h"

#include <catch2/catch.hpp>

#include "sim/base/diagnostics.h"

using namespace blockyard;
using namespace blockyard::study;

namespace {

std::vector<std::string> labels(const std::vector<std::string>& varied) {
  std::vector<Axis> axes;
  for (const std::string& text : varied) axes.push_back(parse_axis(text));
  std::vector<std::string> all;
  for (const Variant& variant : variants(axes)) all.push_back(variant.label);
  return all;
}

using Labels = std::vector<std::string>;

}  // namespace

TEST_CASE("one key gives one variant a value, in the order given") {
  CHECK(labels({"kv_cache.strategy=paged,contiguous"}) == Labels{"strategy=paged", "strategy=contiguous"});
  const auto all = variants({parse_axis("kv_cache.strategy=paged")});
  REQUIRE(all.size() == 1);
  CHECK(all[0].settings == std::vector<std::pair<std::string, std::string>>{{"kv_cache.strategy", "paged"}});
}

TEST_CASE("several keys give every combination, the last one fastest") {
  CHECK(labels({"a.x=1,2", "b.y=3,4,5"}) ==
        Labels{"x=1, y=3", "x=1, y=4", "x=1, y=5", "x=2, y=3", "x=2, y=4", "x=2, y=5"});
}

TEST_CASE("keys joined by a plus change together, and with others give every combination") {
  CHECK(labels({"h.tensor+h.data=8+1,4 + 2,2+4"}) ==
        Labels{"tensor=8, data=1", "tensor=4, data=2", "tensor=2, data=4"});
  CHECK(labels({"a.x+b.y=1+2,3+4", "seed=1,2"}) ==
        Labels{"x=1, y=2, seed=1", "x=1, y=2, seed=2", "x=3, y=4, seed=1", "x=3, y=4, seed=2"});
  CHECK(labels({"a.x+b.y=[1+2]+\"3+4\""}) == Labels{"x=[1+2], y=\"3+4\""});
  CHECK(labels({"rate=1e+3"}) == Labels{"rate=1e+3"});  // of one key it is the value's own
  const auto one = variants({parse_axis("a.x+b.y=1+2")});
  CHECK(one.front().settings == std::vector<std::pair<std::string, std::string>>{{"a.x", "1"}, {"b.y", "2"}});
  CHECK_THROWS_WITH(parse_axis("a+b=1+2,3"), Catch::Contains("value 2, 3: expected 2 values joined by +"));
  CHECK_THROWS_WITH(parse_axis("a+b=1+2+3"), Catch::Contains("found 3"));
  CHECK_THROWS_AS(parse_axis("a+b=1+"), InputError);
  CHECK_THROWS_AS(parse_axis("a+=1+2"), InputError);
  CHECK_THROWS_AS(parse_axis("a+b=1+2,1 + 2"), InputError);
  CHECK_THROWS_AS(labels({"a+a=1+2"}), InputError);
  CHECK_THROWS_AS(labels({"a+b=1+2", "b=3"}), InputError);
}

TEST_CASE("a label names as much of a key as tells it from the others") {
  CHECK(labels({"in.rate=1", "out.rate=2", "seed=3"}) == Labels{"in.rate=1, out.rate=2, seed=3"});
  CHECK(labels({"rate=1", "in.rate=2"}) == Labels{"rate=1, in.rate=2"});
  CHECK(labels({"a.in.rate=1", "b.in.rate=2"}) == Labels{"a.in.rate=1, b.in.rate=2"});
}

TEST_CASE("commas inside brackets and quotes belong to the value") {
  CHECK(labels({"k=[1,2],{a: 1, b: 2},\"x,y\""}) == Labels{"k=[1,2]", "k={a: 1, b: 2}", "k=\"x,y\""});
}

TEST_CASE("values keep their units, blanks around them are dropped") {
  CHECK(labels({"kv_cache.budget= 60 GiB , 30720 blocks"}) == Labels{"budget=60 GiB", "budget=30720 blocks"});
  CHECK(labels({"k=a=b"}) == Labels{"k=a=b"});
}

TEST_CASE("nothing varied is one variant without settings") {
  const auto all = variants({});
  REQUIRE(all.size() == 1);
  CHECK(all[0].settings.empty());
}

TEST_CASE("what cannot be varied is told") {
  CHECK_THROWS_AS(parse_axis("kv_cache.strategy"), InputError);
  CHECK_THROWS_AS(parse_axis("=paged"), InputError);
  CHECK_THROWS_AS(parse_axis("k="), InputError);
  CHECK_THROWS_AS(parse_axis("k=a,,b"), InputError);
  CHECK_THROWS_AS(parse_axis("k=a,b,a"), InputError);
  CHECK_THROWS_AS(labels({"k=a", "k=b"}), InputError);
}

TEST_CASE("there is a bound on combinations") {
  const auto numbers = [](const std::string& key, int n) {
    Axis axis{{key}, {}};
    for (int i = 0; i < n; ++i) axis.points.push_back({std::to_string(i)});
    return axis;
  };
  CHECK(variants({numbers("a", 100), numbers("b", 100)}).size() == kMostVariants);
  CHECK_THROWS_AS(variants({numbers("a", 100), numbers("b", 101)}), InputError);
  const Axis many = numbers("a", 9000);
  CHECK_THROWS_AS(variants({many, numbers("b", 9000), numbers("c", 9000), numbers("d", 9000), numbers("e", 9000)}),
                  InputError);
}
