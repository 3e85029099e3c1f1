#include "versions/bind.hpp"

#include "base/check.hpp"
#include "catch.hpp"
#include "order/orders.hpp"
#include "program/passes.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;

namespace {

Program bound(const VersionPolicy& policy, int p, int n, int k) {
  return bind_versions(add_updates(orders::async_one_f_one_b.make(
                           {.stages = p, .microbatches = n, .minibatches = k})),
                       policy);
}

}  // namespace

// mean(version at B - version at F) = depth_s / N in steady state.
TEST_CASE("mean staleness of a stage is its depth over the micro-batches per mini-batch") {
  for (int n : {1, 2, 3, 4}) {
    const int p = 4, k = 12;
    const auto program = bound(versions::stash, p, n, k);
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

TEST_CASE("an order that makes no progress is reported as our mistake") {
  auto order = orders::async_one_f_one_b.make({.stages = 2, .microbatches = 2});
  std::swap(order.workers[1][0], order.workers[1][1]);  // backward first
  CHECK_THROWS_AS(bind_versions(order, versions::stash), InternalError);
}
