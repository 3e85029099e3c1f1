#include "base/suggest.hpp"

#include <array>
#include <string>

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

TEST_CASE("a word in capitals is as near as one without") {
  constexpr std::array<std::string_view, 3> schedules = {"gpipe", "1f1b", "zb_h1"};
  CHECK(suggest("1F1B", schedules) == "; did you mean '1f1b'?");
  CHECK(suggest("GPipe", schedules) == "; did you mean 'gpipe'?");
  CHECK(suggest("ZB-H1", schedules) == "; did you mean 'zb_h1'?");
  constexpr std::array<std::string_view, 2> known = {"Adam", "sgd"};
  CHECK(suggest("adam", known) == "; did you mean 'Adam'?");
}

TEST_CASE("edit distance counts a swap of neighbours once") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("batch_szie", "batch_size") == 1);
  CHECK(edit_distance("same", "same") == 0);
}

TEST_CASE("if no word is near, none is suggested") {
  CHECK(suggest("attention", kWords) == "");
  CHECK(suggest("", kWords) == "");
  CHECK(suggest("q", kWords) == "");  // any one letter would be one edit from "p"
  CHECK(suggest("relu", {}) == "");
  CHECK_FALSE(nearest(std::string(100000, 'r'), kWords));  // and without delay
}

TEST_CASE("of two words equally near the first wins") {
  CHECK(suggest("elu", kWords) == "; did you mean 'relu'?");
}
