// The policy latest by itself, and bound into a flushing schedule.
#include "catch.hpp"
#include "schedules.hpp"
#include "versions/versions.hpp"

using namespace pipetrain;

TEST_CASE("latest reads what is newest at the time, in both directions") {
  ReadContext at;
  at.at_entry = {1};
  at.at_forward = {2};
  at.at_backward = {5};
  CHECK(versions::latest.forward(at) == WeightRead{{2}, AsStored{}});
  CHECK(versions::latest.backward(at, {{2}, AsStored{}}) == WeightRead{{5}, AsStored{}});
}

TEST_CASE("under a flushing order both are the version of the mini-batch") {
  for (const auto& row : schedules()) {
    if (!flushes(row)) continue;
    const auto program = make_program({std::string(row.name), 4, 4, 3});
    for (const auto& list : program.workers)
      for (const auto& i : list)
        if (reads_weights(i.op))
          CHECK(i.weights == WeightRead{{program.minibatch_of(i.microbatch).value}, AsStored{}});
  }
}
