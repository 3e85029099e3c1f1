// One stage, instruction by instruction: where it would wait, what it holds and gives back.
#include "runtime/stage_runner.hpp"

#include "base/check.hpp"
#include "catch.hpp"
#include "training.hpp"
#include "workers_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// The two stages of a small training, a mini-batch of two micro-batches.
struct TwoRunners {
  TwoRunners()
      : rig(make_config(
            {.stages = 2, .microbatches = 2, .schedule = "gpipe", .workers = "inline"})),
        first(rig.run(), {0}, {0}),
        second(rig.run(), {1}, {1}) {
    REQUIRE(rig.board().begin(0, 1));
    first.begin_program(0);
    second.begin_program(0);
  }
  static Instruction of(Op op, int stage, int microbatch) {
    Instruction i;
    i.op = op;
    i.stage = {stage};
    i.microbatch = {microbatch};
    return i;
  }
  void run(StageRunner& runner, const std::vector<Op>& ops, int microbatch) const {
    for (const Op op : ops) {
      const Instruction i = of(op, runner.stage().value, microbatch);
      REQUIRE_FALSE(runner.blocked(i));
      runner.execute(i);
    }
  }
  void forward(int microbatch) {
    run(first, {Op::LoadInput, Op::Forward, Op::SendActivation}, microbatch);
    run(second, {Op::ReceiveActivation, Op::Forward}, microbatch);
  }
  void backward(int microbatch) {
    run(second, {Op::Backward, Op::SendGradient}, microbatch);
    run(first, {Op::ReceiveGradient, Op::Backward}, microbatch);
  }
  WorkersRig rig;
  StageRunner first, second;
};

}  // namespace

TEST_CASE("a stage waits for an activation that was not sent, and for a gradient",
          "[stage runner]") {
  TwoRunners two;
  const Instruction receive = TwoRunners::of(Op::ReceiveActivation, 1, 0),
                    gradient = TwoRunners::of(Op::ReceiveGradient, 0, 0);
  two.run(two.first, {Op::LoadInput, Op::Forward}, 0);
  CHECK(two.second.blocked(receive));
  two.run(two.first, {Op::SendActivation}, 0);
  CHECK_FALSE(two.second.blocked(receive));
  two.run(two.second, {Op::ReceiveActivation, Op::Forward}, 0);
  CHECK(two.first.blocked(gradient));
  two.run(two.second, {Op::Backward, Op::SendGradient}, 0);
  CHECK_FALSE(two.first.blocked(gradient));
}

TEST_CASE("a stage waits for a free packet before it takes an input", "[stage runner]") {
  TwoRunners two;
  const Instruction load = TwoRunners::of(Op::LoadInput, 0, 0);
  std::vector<Packet*> taken;
  while (two.rig.activations(0).can_acquire()) taken.push_back(two.rig.activations(0).acquire());
  CHECK_FALSE(taken.empty());
  CHECK(two.first.blocked(load));
  two.rig.activations(0).send(taken[0]);
  two.rig.activations(0).release(two.rig.activations(0).receive());
  CHECK_FALSE(two.first.blocked(load));
}

TEST_CASE("a stage gives every packet back with its backward", "[stage runner]") {
  TwoRunners two;
  const auto free_packets = [&] {
    std::vector<Packet*> taken;
    Channel& channel = two.rig.activations(0);
    while (channel.can_acquire()) taken.push_back(channel.acquire());
    for (Packet* packet : taken) channel.send(packet);
    for (std::size_t i = 0; i < taken.size(); ++i) channel.release(channel.receive());
    return taken.size();
  };
  const std::size_t all = free_packets();
  two.forward(0);
  two.forward(1);
  CHECK(free_packets() == all - 2);
  two.backward(0);
  CHECK(free_packets() == all - 1);
  two.backward(1);
  CHECK(free_packets() == all);
}

TEST_CASE("the last stage reports a mini-batch after its update", "[stage runner]") {
  TwoRunners two;
  for (const int m : {0, 1}) two.forward(m);
  for (const int m : {0, 1}) two.backward(m);
  for (StageRunner* const runner : {&two.first, &two.second}) {
    two.run(*runner, {Op::Update}, 1);
    runner->finish();
  }
  const StepRecord* const record = two.rig.board().try_next();
  REQUIRE(record != nullptr);
  CHECK(record->lr == 0.05);
  CHECK(record->stages[1].samples == 16);
  CHECK(record->stages[1].loss.sum > 0);
  CHECK(record->stages[0].samples == 0);
}

TEST_CASE("a gradient of another micro-batch than the one asked for is found", "[stage runner]") {
  TwoRunners two;
  two.forward(0);
  two.forward(1);
  two.run(two.second, {Op::Backward, Op::SendGradient}, 1);
  CHECK_THROWS_WITH(two.first.execute(TwoRunners::of(Op::ReceiveGradient, 0, 0)),
                    Contains("micro-batch"));
}
