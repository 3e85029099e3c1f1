#include "base/suggest.hpp"

#include <array>

#include "catch.hpp"

using namespace pipetrain;

namespace {
constexpr std::array<std::string_view, 5> kWords = {"conv2d", "linear", "relu", "gelu", "p"};
}

TEST_CASE("the nearest word within a third of its letters is suggested") {
  CHECK(suggest("conv2", kWords) == "; did you mean 'conv2d'?");
  CHECK(suggest("covn2d", kWords) == "; did you mean 'conv2d'?");
  CHECK(suggest("liner", kWords) == "; did you mean 'linear'?");
  CHECK(suggest("rleu", kWords) == "; did you mean 'relu'?");
}

TEST_CASE("nothing near, nothing said") {
  CHECK(suggest("attention", kWords) == "");
  CHECK(suggest("", kWords) == "");
  CHECK(suggest("q", kWords) == "");  // any one letter would be one edit from "p"
  CHECK(suggest("relu", {}) == "");
}

TEST_CASE("of two words equally near the first wins") {
  CHECK(suggest("elu", kWords) == "; did you mean 'relu'?");
}
