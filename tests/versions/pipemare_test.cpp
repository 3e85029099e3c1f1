// The policy pipemare: newest weights forward, set back along delta backward.
#include "catch.hpp"
#include "program/liveness.hpp"
#include "schedules.hpp"
#include "versions/reads.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

TEST_CASE("pipemare: forward reads the newest weights, backward those set back by the delay") {
  const auto program = make_program({"pipemare", 3, 2, 3});
  CHECK(reads(program, 0) ==
        "F0 F1 F2 B0@0-1d F3 B1@0-1d F4@1 B2@1-1d F5@1 B3@1-1d B4@2-1d B5@2-1d");
  CHECK(reads(program, 1) ==
        "F0 F1 B0@0-0.5d F2 B1@0-0.5d F3@1 B2@1-0.5d F4@1 B3@1-0.5d F5@2 B4@2-0.5d B5@2-0.5d");
  CHECK(reads(program, 2) == "F0 B0 F1 B1 F2@1 B2@1 F3@1 B3@1 F4@2 B4@2 F5@2 B5@2");
}

TEST_CASE("pipemare holds one version, whatever the depth") {
  for (const int p : {1, 4, 7})
    CHECK(peak_weight_versions(make_program({"pipemare", p, 2, 9})) ==
          std::vector<int>(static_cast<std::size_t>(p), 1));
}

TEST_CASE("pipemare without T2 reads the newest weights in both directions") {
  const auto program = make_program(
      {.schedule = "pipemare", .stages = 2, .minibatches = 3, .mix = {.extrapolates = false}});
  CHECK(reads(program, 0) == "F0 F1 B0 F2@1 B1@1 B2@2");
}
