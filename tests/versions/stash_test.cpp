// The policy stash: what pipedream reads, and how many versions each stage holds.
#include "catch.hpp"

#include <tuple>
#include "program/liveness.hpp"
#include "schedules.hpp"
#include "versions/reads.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

// PipeDream's figure of weight stashing, 3 stages: backward of micro-batch m reads what its forward
// did.
TEST_CASE("stash: backward reads what its forward read") {
  const auto program = make_program({"pipedream", 3, 1, 4});
  CHECK(reads(program, 0) == "F0 F1 F2 B0 F3@1 B1 B2 B3@1");
  CHECK(reads(program, 1) == "F0 F1 B0 F2@1 B1 F3@2 B2@1 B3@2");
  CHECK(reads(program, 2) == "F0 B0 F1@1 B1@1 F2@2 B2@2 F3@3 B3@3");
}

TEST_CASE("stash: a stage holds 1 + ceil(depth / N) versions") {
  for (const auto& [warmup, factor, extra] :
       {std::tuple{Warmup::OneFOneB, 1, 0}, {Warmup::Double, 2, 0}, {Warmup::Full, 2, 1}})
    for (const int p : {1, 2, 4, 5})
      for (const int n : {1, 2, 3, 4, 7}) {
        CAPTURE(warmup, p, n);
        const auto held = peak_weight_versions(make_program({.schedule = "pipedream",
                                                             .stages = p,
                                                             .microbatches = n,
                                                             .minibatches = 30,
                                                             .warmup = warmup}));
        for (int s = 0; s < p; ++s) {
          const int depth = factor * (p - 1 - s) + extra;
          CHECK(held[static_cast<std::size_t>(s)] == 1 + (depth + n - 1) / n);
        }
      }
}
