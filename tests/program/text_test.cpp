#include "program/text.hpp"

#include <cmath>
#include <random>

#include "base/error.hpp"
#include "catch.hpp"
#include "program/random_program.hpp"
#include "schedules.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;

namespace {
Instruction forward_with(WeightRead weights) { return {Op::Forward, {2}, {3}, weights}; }
}  // namespace

TEST_CASE("instructions have the documented text") {
  CHECK(to_text({Op::Forward, {2}, {0}, {}}) == "2F0");
  CHECK(to_text({Op::SendActivation, {0}, {17}, {}}) == "0SA17");
  CHECK(to_text(forward_with({{1}, AsStored{}})) == "2F3@1");
  CHECK(to_text(forward_with({{4}, Extrapolate{1.5}})) == "2F3@4-1.5d");
  CHECK(to_text(forward_with({{0}, Extrapolate{1.5}})) == "2F3@0-1.5d");
  CHECK(to_text(forward_with({{4}, Blend{{2}, 0.25}})) == "2F3@4~2*0.25");
  CHECK(short_text(forward_with({{1}, AsStored{}})) == "2F3");
}

TEST_CASE("every op round-trips") {
  for (int op = 0; op <= static_cast<int>(Op::Update); ++op) {
    const Instruction i{static_cast<Op>(op), {12}, {345}, {{6}, AsStored{}}};
    CHECK(parse_instruction(to_text(i)) == i);
  }
}

TEST_CASE("weights round-trip exactly, whatever the double") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  for (int n = 0; n < 1000; ++n) {
    const double value = std::ldexp(std::uniform_real_distribution<double>(-1, 1)(random),
                                    static_cast<int>(random() % 200) - 100);
    for (const auto& i :
         {forward_with({{7}, Extrapolate{value}}), forward_with({{7}, Blend{{2}, value}})}) {
      CAPTURE(to_text(i));
      CHECK(parse_instruction(to_text(i)) == i);
    }
  }
}

TEST_CASE("programs round-trip, random ones and placements too") {
  const auto seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int n = 0; n < 50; ++n) {
    const auto program = test::random_program(random, versions::stash);
    CHECK(parse_program(to_text(program)) == program);
  }
  Program chimera;
  chimera.stages = 2;
  chimera.placement = {{{0}, {1}}, {{1}, {0}}};
  chimera.workers = {{{Op::Forward, {0}, {0}, {}}, {Op::Forward, {1}, {1}, {}}}, {}};
  CHECK(to_text(chimera) ==
        "program stages=2 microbatches=1 minibatches=1 placement=0+1,1+0\n0: 0F0 1F1\n1:\n");
  CHECK(parse_program(to_text(chimera)) == chimera);
}

TEST_CASE("the text of a program has one line per worker") {
  CHECK(to_text(make_program({.schedule = "1f1b", .stages = 2, .microbatches = 1})) ==
        "program stages=2 microbatches=1 minibatches=1\n"
        "0: 0L0 0F0 0SA0 0RG0 0B0 0U0@1\n"
        "1: 1RA0 1F0 1B0 1SG0 1U0@1\n");
}

TEST_CASE("anything but an instruction is refused by name") {
  for (const char* text :
       {"", "F0", "2F", "2X0", "-1F0", "2F0 ", "2F0@", "2F0@x", "2F0@4-1.5", "2F0@4-d", "2F0@4~2",
        "2F0@4~2*", "2F0@4~2*inf", "2F0@1extra", "99999999999F0"}) {
    CAPTURE(text);
    CHECK_THROWS_WITH(parse_instruction(text), Contains("`" + std::string(text) + "`"));
    CHECK_THROWS_AS(parse_instruction(text), UsageError);
  }
}

TEST_CASE("an error in a program names line and token") {
  const std::string head = "# made by hand\n\nprogram stages=2 microbatches=1 minibatches=1\n";
  CHECK_NOTHROW(parse_program(head + "0: 0F0\n1: 1F0"));
  CHECK_THROWS_WITH(parse_program(head + "0: 0F0 0G0\n"), Contains("line 4") && Contains("`0G0`"));
  CHECK_THROWS_WITH(parse_program(head + "1: 1F0\n"), Contains("line 4") && Contains("`1:`"));
  CHECK_THROWS_WITH(parse_program("0: 0F0\n"), Contains("line 1") && Contains("`0:`"));
  CHECK_THROWS_WITH(parse_program("program stages=2 workers=3\n"), Contains("`workers=3`"));
  CHECK_THROWS_WITH(parse_program("program stages=0\n"), Contains("at least 1"));
  CHECK_THROWS_WITH(parse_program("program placement=0+\n"), Contains("`placement=0+`"));
  CHECK_THROWS_WITH(parse_program("\n# nothing\n"), Contains("empty"));
}
