// The policy vertical_sync: what pipedream reads with one version on every stage.
#include "catch.hpp"
#include "program/liveness.hpp"
#include "schedules.hpp"
#include "versions/reads.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

TEST_CASE("vertical sync: every stage reads what stage 0 had at entry") {
  const auto program =
      make_program({.schedule = "pipedream", .stages = 3, .minibatches = 5, .vertical_sync = true});
  CHECK(reads(program, 0) == "F0 F1 F2 B0 F3@1 B1 F4@2 B2 B3@1 B4@2");
  CHECK(reads(program, 2) == "F0 B0 F1 B1 F2 B2 F3@1 B3@1 F4@2 B4@2");
}

TEST_CASE("vertical sync: every stage holds 1 + ceil(depth of stage 0 / N) versions") {
  for (const int p : {1, 2, 4, 5})
    for (const int n : {1, 2, 3, 7}) {
      CAPTURE(p, n);
      const auto program = make_program({.schedule = "pipedream",
                                         .stages = p,
                                         .microbatches = n,
                                         .minibatches = 12,
                                         .vertical_sync = true});
      CHECK(peak_weight_versions(program) ==
            std::vector<int>(static_cast<std::size_t>(p), 1 + (p - 1 + n - 1) / n));
    }
}
