// One worker by hand: what it runs, where it waits, what it leaves to its neighbours.
#include "runtime/worker.hpp"

#include <algorithm>

#include "base/check.hpp"
#include "catch.hpp"
#include "training.hpp"
#include "workers_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Config two_stages(const char* schedule = "gpipe") {
  return make_config({.stages = 2, .microbatches = 2, .schedule = schedule, .workers = "inline"});
}

int place_of_first(const std::vector<Instruction>& list, Op op) {
  return static_cast<int>(std::ranges::find(list, op, &Instruction::op) - list.begin());
}

}  // namespace

TEST_CASE("a worker runs its list up to a receive whose packet was not sent", "[worker]") {
  WorkersRig rig(two_stages());
  Worker first = rig.worker(0), second = rig.worker(1);
  CHECK(WorkersRig::run_until_blocked(second) == 0);
  const int forwards = place_of_first(rig.list(0), Op::ReceiveGradient);
  CHECK(forwards > 0);
  CHECK(WorkersRig::run_until_blocked(first) == forwards);
  CHECK(WorkersRig::run_until_blocked(second) == std::ssize(rig.list(1)));
  CHECK(second.done());
  CHECK_FALSE(first.done());
  CHECK(WorkersRig::run_until_blocked(first) == std::ssize(rig.list(0)) - forwards);
  CHECK(first.done());
}

TEST_CASE("an activation leaves with its micro-batch and the ids of its samples", "[worker]") {
  WorkersRig rig(two_stages());
  Worker first = rig.worker(0);
  WorkersRig::run_until_blocked(first);
  const Packet* const packet = rig.activations(0).receive();
  CHECK(packet->microbatch == MicrobatchId{0});
  CHECK(packet->samples == 8);
  CHECK(packet->ids.size() == 8);
  CHECK(rig.activations(0).receive()->ids != packet->ids);
}

TEST_CASE("an error names stage, instruction and micro-batch", "[worker]") {
  WorkersRig rig(two_stages());
  auto& list = rig.list(1);
  list[place_of_first(list, Op::ReceiveActivation)].microbatch = {1};
  Worker first = rig.worker(0), second = rig.worker(1);
  WorkersRig::run_until_blocked(first);
  CHECK_THROWS_WITH(second.step(), Contains("stage 1, instruction 1RA1 (micro-batch 1 of "
                                            "mini-batch 1): ") &&
                                       Contains("micro-batch 0 arrived instead of 1"));
}

// GPipe has a slot for each micro-batch of a mini-batch: the second mini-batch finds them free only
// once the first has left.
TEST_CASE("a backward leaves room for the next mini-batch", "[worker]") {
  WorkersRig rig(two_stages(), 2);
  Worker first = rig.worker(0), second = rig.worker(1);
  while (!first.done() || !second.done()) {
    const int ran = WorkersRig::run_until_blocked(first) + WorkersRig::run_until_blocked(second);
    REQUIRE(ran > 0);
  }
  first.finish();
  second.finish();
  for (std::int64_t step = 0; step < 2; ++step) {
    const StepRecord* const record = rig.board().try_next();
    REQUIRE(record != nullptr);
    CHECK(record->step == step);
    CHECK(record->stages.back().samples == 16);
    CHECK(record->squared_norm() > 0);
    rig.board().pop();
  }
  CHECK(rig.board().try_next() == nullptr);
}

TEST_CASE("a micro-batch that comes again before it has left is found", "[worker]") {
  WorkersRig rig(two_stages());
  auto& list = rig.list(0);
  list[1] = list[0];
  REQUIRE(list[0].op == Op::LoadInput);
  Worker first = rig.worker(0);
  first.step();
  CHECK_THROWS_WITH(first.step(), Contains("more micro-batches are in flight"));
}
