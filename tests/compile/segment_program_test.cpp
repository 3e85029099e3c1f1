// The programs that runs are made of.
#include "compile/segment_program.hpp"

#include <algorithm>
#include <tuple>

#include "catch.hpp"
#include "order_csv.hpp"
#include "program/check.hpp"
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

Config own_order_config(const Program& order) {
  Config config = make_config({.stages = static_cast<int>(order.workers.size()),
                               .microbatches = order.microbatches,
                               .schedule = ""});
  config.pipeline.order_csv = csv_of(order);
  return config;
}

// An evaluation of several mini-batches: the program again and again, as a worker runs it.
Program run_again(const Program& once, int minibatches) {
  Program program = once;
  program.minibatches = minibatches;
  for (std::size_t w = 0; w < once.workers.size(); ++w)
    for (int k = 1; k < minibatches; ++k)
      for (Instruction i : once.workers[w]) {
        i.microbatch.value += k * once.microbatches;
        program.workers[w].push_back(i);
      }
  return program;
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
  CHECK(to_text(evaluation_program(make_program({"zb_v", 2, 2}), 3)) ==
        to_text(parse_program(
            "program stages=4 microbatches=3 minibatches=1 placement=0,1,1,0\n"
            "0: 0L0 0F0 0SA0 0L1 0F1 0SA1 0L2 0F2 0SA2 3RA0 3F0 3RA1 3F1 3RA2 3F2\n"
            "1: 1RA0 1F0 1SA0 2RA0 2F0 2SA0 1RA1 1F1 1SA1 2RA1 2F1 2SA1 1RA2 1F2 1SA2 2RA2 2F2 "
            "2SA2\n")));
}

TEST_CASE("workers with several stages evaluate several micro-batches at once",
          "[segment program]") {
  for (const std::string schedule : {"zb_v", "interleaved_1f1b"})
    for (int stages = 1; stages <= 6; ++stages)
      for (int on_worker = 1; on_worker <= 3; ++on_worker)
        for (int microbatches = 1; microbatches <= 8; ++microbatches) {
          if (schedule == "zb_v" ? on_worker != 2 : stages == 1) continue;
          CAPTURE(schedule, stages, on_worker, microbatches);
          const Program training =
              make_program({.schedule = schedule,
                            .stages = stages,
                            .microbatches = stages * 2,  // interleaved_1f1b asks for a multiple
                            .virtual_stages = on_worker});
          const Program program = evaluation_program(training, microbatches);
          // In forwards: a worker's own, and at most one for each stage while the pipeline fills.
          CHECK(simulate(program, {}).makespan <= on_worker * microbatches + program.stages - 1);
          CHECK(find_deadlock(run_again(program, 3), 1).empty());
          CHECK(find_misread_channels(run_again(program, 3)).empty());
        }
}

TEST_CASE("evaluation has the same sums and the predicted memory wherever the stages are",
          "[segment program]") {
  const auto evaluated = [](const ConfigChoice& choice, int on_worker) {
    Config config = make_config(choice);
    config.pipeline.virtual_stages = on_worker;
    config.validation.batch_size = 0;
    const Trained trained =
        train({.model = mlp_model, .config = config, .steps = 1, .evaluate = true});
    CHECK(trained.measured == trained.predicted);
    return trained.before;
  };
  const Evaluation one = evaluated({.microbatches = 6}, 1);
  for (const std::string workers : {"threads", "inline"})
    for (const auto& [schedule, stages, on_worker] :
         {std::tuple{"zb_v", 3, 2}, {"zb_v", 2, 2}, {"interleaved_1f1b", 2, 3}}) {
      CAPTURE(workers, schedule, stages);
      const Evaluation other =
          evaluated({.stages = stages, .microbatches = 6, .schedule = schedule, .workers = workers},
                    on_worker);
      CHECK(other.loss == one.loss);
      CHECK(other.samples == one.samples);
    }
}

TEST_CASE("fused updates of an own order are taken apart where they need other gradients first",
          "[segment program]") {
  const std::string head = "program stages=3 microbatches=1 minibatches=1\n0: 0L0 0F0 0SA0 0RG0 ",
                    middle = "\n1: 1RA0 1F0 1SA0 1RG0 1I0 1SG0 ", last = "\n2: 2RA0 2F0 2BH0 2SG0 ";
  const Program fused = parse_program(head + "0BU0" + middle + "1WU0" + last + "2TU0\n");
  Config config = own_order_config(fused);
  CHECK(training_program(config, 3, 1).program == fused);
  CHECK(
      to_text(training_program(config, 3, 1, {{0}, {2}}).program) ==
      to_text(parse_program(head + "0B0 0Y0 0U0@1" + middle + "1WU0" + last + "2BT0 2Y0 2U0@1\n")));
  config.optimizer.kind = OptimizerKind::Adam;
  CHECK(training_program(config, 3, 1).program == fused);
  const std::string apart =
      to_text(parse_program(head + "0B0 0U0@1" + middle + "1W0 1U0@1" + last + "2BT0 2U0@1\n"));
  config.optimizer.max_norm = 1;
  CHECK(to_text(training_program(config, 3, 1).program) == apart);
  config.optimizer.max_norm = 0;
  config.training.on_nonfinite = OnNonfinite::Skip;
  CHECK(to_text(training_program(config, 3, 1).program) == apart);
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
