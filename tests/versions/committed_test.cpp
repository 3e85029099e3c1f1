// The policy committed: what timeprest reads, and how many versions it holds.
#include <map>
#include <set>

#include "catch.hpp"
#include "program/liveness.hpp"
#include "schedules.hpp"
#include "versions/reads.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;
using namespace pipetrain::test;

// 4 stages, 4 micro-batches: micro-batches 8 and 9 (3A, 3B of the paper) read version 0, 10 and 11
// version 1, on every stage.
TEST_CASE("committed: forwards read stage 0's version at entry") {
  const auto program = make_program({"timeprest", 4, 4, 4});
  std::map<int, std::set<int>> versions;
  for (const auto& list : program.workers)
    for (const auto& i : list)
      if (i.op == Op::Forward) versions[i.microbatch.value].insert(i.weights.version.value);
  CHECK(versions[8] == std::set{0});
  CHECK(versions[9] == std::set{0});
  CHECK(versions[10] == std::set{1});
  CHECK(versions[11] == std::set{1});
}

TEST_CASE("committed: with few stages backward reads the newest weights of every stage") {
  for (const auto& [p, n] : {std::pair{2, 1}, {2, 3}, {4, 3}, {5, 4}}) {
    const auto program = make_program({"timeprest", p, n, 9});
    for (const auto& list : program.workers) {
      Version newest{0};
      for (const auto& i : list) {
        if (i.op == Op::Update) newest = i.weights.version;
        if (i.op == Op::Backward) CHECK(i.weights == WeightRead{newest, AsStored{}});
      }
    }
  }
}

// v = ceil(W / (N+1)) chains of updates: mini-batch k reads version k - v + 1 in backward.
TEST_CASE("committed: the version difference is ceil(W / (N + 1))") {
  for (int p = 1; p <= 9; ++p)
    for (int n = 1; n <= 8; ++n) {
      const int v = (p + n) / (n + 1), k = 14;
      CAPTURE(p, n);
      for (const auto& list : make_program({"timeprest", p, n, k}).workers)
        for (const auto& i : list)
          if (i.op == Op::Backward)
            CHECK(i.weights.version.value == std::max(0, i.microbatch.value / n - v + 1));
    }
}

TEST_CASE("committed: copies held are max(ceil(W / (N+1)), 1 + ceil(2 s / N))") {
  for (const auto& [p, n] : {std::pair{2, 3}, {3, 2}, {4, 3}, {4, 4}, {4, 2}, {6, 2}, {8, 3}}) {
    const auto held = peak_weight_versions(make_program({"timeprest", p, n, 16}));
    for (int s = 0; s < p; ++s) {
      CAPTURE(p, n, s);
      CHECK(held[static_cast<std::size_t>(s)] ==
            std::max((p + n) / (n + 1), 1 + (2 * s + n - 1) / n));
    }
  }
}
