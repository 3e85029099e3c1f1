#include "versions/bind.hpp"

#include "base/check.hpp"
#include "catch.hpp"
#include "program/liveness.hpp"
#include "program/passes.hpp"
#include "program/text.hpp"
#include "semantics/stash.hpp"

using namespace pipetrain;

namespace {

std::string line_of(const Program& program, int worker) {
  std::string text;
  for (const auto& i : program.workers[worker])
    if (reads_weights(i.op)) text += to_text(i) + " ";
  return text;
}

Program bound(const VersionPolicy& policy, int p, int n, int k) {
  return bind_versions(add_updates(test::never_drained.make({p, n, k})), policy);
}

}  // namespace

// PipeDream's figure of weight stashing, 3 stages: backward of micro-batch m reads what its forward
// did.
TEST_CASE("stash: forward reads the newest, backward the same again") {
  const auto program = bound(test::stash, 3, 1, 4);
  CHECK(line_of(program, 0) == "0F0 0F1 0F2 0B0 0F3@1 0B1 0B2 0B3@1 ");
  CHECK(line_of(program, 1) == "1F0 1F1 1B0 1F2@1 1B1 1F3@2 1B2@1 1B3@2 ");
  CHECK(line_of(program, 2) == "2F0 2B0 2F1@1 2B1@1 2F2@2 2B2@2 2F3@3 2B3@3 ");
  CHECK(peak_weight_versions(program) == std::vector{3, 2, 1});
}

TEST_CASE("vertical sync: every stage reads what stage 0 had at entry") {
  const auto program = bound(test::vertical, 3, 1, 5);
  CHECK(line_of(program, 2) == "2F0 2B0 2F1 2B1 2F2 2B2 2F3@1 2B3@1 2F4@2 2B4@2 ");
  CHECK(peak_weight_versions(program) == std::vector{3, 3, 3});  // 1 + depth of stage 0
}

// mean(version at B - version at F) = depth_s / N in steady state.
TEST_CASE("mean staleness of a stage is its depth over the micro-batches per mini-batch") {
  for (int n : {1, 2, 3, 4}) {
    const int p = 4, k = 12;
    const auto program = bound(test::stash, p, n, k);
    for (int s = 0; s < p; ++s) {
      int newest = 0, total = 0, counted = 0;
      for (const auto& i : program.workers[s]) {
        if (i.op == Op::Update) newest = i.weights.version.value;
        const int minibatch = program.minibatch_of(i.microbatch).value;
        if (i.op != Op::Backward || minibatch < 4) continue;
        total += newest - i.weights.version.value;
        ++counted;
      }
      CAPTURE(n, s);
      CHECK(double(total) / counted == Approx(double(p - 1 - s) / n));
    }
  }
}

TEST_CASE("an order that never gets on is our mistake, and said so") {
  auto order = test::never_drained.make({.stages = 2, .microbatches = 2});
  std::swap(order.workers[1][0], order.workers[1][1]);  // backward first
  CHECK_THROWS_AS(bind_versions(order, test::stash), InternalError);
}
