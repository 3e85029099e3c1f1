// The programs that runs are made of.
#include "compile/segment_program.hpp"

#include <algorithm>

#include "catch.hpp"
#include "program/text.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

long count(const Program& program, Op op) {
  long all = 0;
  for (const auto& list : program.workers)
    all +=
        std::count_if(list.begin(), list.end(), [&](const Instruction& i) { return i.op == op; });
  return all;
}

long count_updates(const Program& program) {
  long all = 0;
  for (const auto& list : program.workers)
    all +=
        std::count_if(list.begin(), list.end(), [](const Instruction& i) { return updates(i.op); });
  return all;
}

}  // namespace

TEST_CASE("a training program is one mini-batch of the config's schedule", "[segment program]") {
  for (const std::string schedule : {"gpipe", "1f1b"}) {
    const Program program =
        training_program(make_config({.microbatches = 5, .schedule = schedule}), 3, 10).program;
    CHECK(program.workers.size() == 3);
    CHECK(program.minibatches == 1);
    CHECK(count(program, Op::LoadInput) == 5);
    CHECK(count(program, Op::Forward) == 15);
    CHECK(count_updates(program) == 3);
    CHECK_FALSE(splits_backward(program));
  }
}

TEST_CASE("updates wait for each other only if a norm is asked for", "[segment program]") {
  Config config = make_config({});
  CHECK(count(training_program(config, 3, 10).program, Op::SyncGradients) == 0);
  config.optimizer.max_norm = 1;
  CHECK(count(training_program(config, 3, 10).program, Op::SyncGradients) == 3);
  config.optimizer.max_norm = 0;
  config.training.on_nonfinite = OnNonfinite::Skip;
  CHECK(count(training_program(config, 3, 10).program, Op::SyncGradients) == 3);
}

TEST_CASE("evaluation is a forward through every stage", "[segment program]") {
  CHECK(to_text(evaluation_program(make_program({"1f1b", 1}))) ==
        to_text(parse_program("program stages=1 microbatches=1 minibatches=1\n0: 0L0 0F0\n")));
  CHECK(to_text(evaluation_program(make_program({"1f1b", 3}))) ==
        to_text(parse_program("program stages=3 microbatches=1 minibatches=1\n"
                              "0: 0L0 0F0 0SA0\n1: 1RA0 1F0 1SA0\n2: 2RA0 2F0\n")));
  CHECK(to_text(evaluation_program(make_program({"data_parallel", 2, 4}), 2)) ==
        to_text(parse_program("program stages=1 microbatches=2 minibatches=1 placement=0\n"
                              "0: 0L0 0F0 0L1 0F1\n1:\n")));
}

TEST_CASE("an input half on its own makes a split backward", "[segment program]") {
  CHECK(splits_backward(
      parse_program("program stages=1 microbatches=1 minibatches=1\n0: 0L0 0F0 0I0 0W0 0U0@1\n")));
}

TEST_CASE("evaluation runs each stage where training has it", "[segment program]") {
  CHECK(to_text(evaluation_program(make_program({"zb_v", 2, 2}))) ==
        to_text(parse_program("program stages=4 microbatches=1 minibatches=1 placement=0,1,1,0\n"
                              "0: 0L0 0F0 0SA0 3RA0 3F0\n"
                              "1: 1RA0 1F0 1SA0 2RA0 2F0 2SA0\n")));
}

TEST_CASE("a schedule that never drains is one program, folded if it is long",
          "[segment program]") {
  Config config = make_config({.microbatches = 2, .schedule = "pipedream"});
  const SegmentProgram brief = training_program(config, 3, 4);
  CHECK(brief.program.minibatches == 4);
  CHECK(brief.loops.empty());
  const SegmentProgram folded = training_program(config, 3, 100000);
  CHECK(to_text(folded).starts_with("# worker 0 repeats "));
  CHECK(parse_program(to_text(folded)) == folded.program);
  CHECK(folded.loops.size() == 3);
  CHECK(folded.program.minibatches < 20);
  CHECK(unfold({folded.program, folded.loops}, 7).minibatches == folded.program.minibatches + 6);
}

TEST_CASE("an asynchronous stage clips by its own norm: its update waits for no other",
          "[segment program]") {
  Config config = make_config({.microbatches = 2, .schedule = "pipedream"});
  config.optimizer.max_norm = 1;
  CHECK(count(training_program(config, 3, 4).program, Op::SyncGradients) == 0);
}
