// The policy double_buffered: what pipedream_2bw reads, and that two versions are enough.
#include <algorithm>

#include "catch.hpp"
#include "program/liveness.hpp"
#include "schedules.hpp"
#include "versions/reads.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

// Micro-batch k of the whole run, from 1, reads version max(floor((k-1)/m) - 1, 0).
TEST_CASE("double buffered: the version formula of 2BW, on every stage") {
  const int p = 3, n = 4;
  const auto program = make_program({"pipedream_2bw", p, n, 5});
  for (const auto& list : program.workers)
    for (const auto& i : list)
      if (reads_weights(i.op)) {
        const int k = i.microbatch.value + 1;
        CHECK(i.weights == WeightRead{{std::max((k - 1) / n - 1, 0)}, AsStored{}});
      }
}

TEST_CASE("double buffered: at most two versions") {
  for (const Warmup warmup : {Warmup::OneFOneB, Warmup::Double, Warmup::Full})
    for (const int p : {1, 2, 4, 6}) {
      const int least = warmup == Warmup::OneFOneB ? p
                        : warmup == Warmup::Double ? 2 * p - 1
                                                   : 2 * p;
      for (const int n : {least, least + 1, least + 5}) {
        CAPTURE(warmup, p, n);
        const auto held = peak_weight_versions(make_program({.schedule = "pipedream_2bw",
                                                             .stages = p,
                                                             .microbatches = n,
                                                             .minibatches = 6,
                                                             .warmup = warmup}));
        for (const int copies : held) CHECK(copies <= 2);
      }
    }
}
