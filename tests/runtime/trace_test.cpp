// What is recorded of a real run: every instruction of the traced steps in the program's order, and
// the same weights as without.
#include "metrics/trace.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <utility>

#include "catch.hpp"
#include "compile/segment_program.hpp"
#include "program/text.hpp"
#include "training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

struct Recorded {
  std::vector<std::string> instructions;  // "step 3: 0F1"
  bool in_order = true, nested = true;    // in time; waits within their instruction
};

Recorded read(Trace& trace, int stage) {
  Recorded out;
  std::int64_t last_end = 0, wait_begin = 0, wait_end = 0;
  for (const TraceRecord& r : trace.track({stage}).records()) {
    out.in_order &= r.begin_ns >= last_end && r.end_ns >= r.begin_ns;
    if (r.waiting) {
      if (wait_end == 0) wait_begin = r.begin_ns;
      wait_end = r.end_ns;
      continue;
    }
    if (wait_end > 0) out.nested &= r.begin_ns <= wait_begin && wait_end <= r.end_ns;
    wait_end = 0;
    last_end = r.end_ns;
    out.instructions.push_back(fmt::format("step {}: {}", r.step, to_text(r.instruction)));
  }
  return out;
}

std::vector<std::string> expected(const Program& program, int stage, const StepRange& steps) {
  std::vector<std::string> out;
  for (std::int64_t step = steps.first; step <= steps.last; ++step)
    for (const Instruction& i : program.workers[static_cast<std::size_t>(stage)])
      out.push_back(fmt::format("step {}: {}", step, to_text(i)));
  return out;
}

}  // namespace

TEST_CASE("a run's trace has the program's instructions", "[trace]") {
  const std::string workers = GENERATE("threads", "inline"), schedule = GENERATE("gpipe", "1f1b");
  for (const int stages : {1, 3}) {
    INFO(workers << ", " << schedule << ", " << stages << " stages");
    Config config = make_config({.stages = stages, .schedule = schedule, .workers = workers});
    config.optimizer.max_norm = 1;
    TrainingSetup setup{.model = mlp_model, .config = config, .steps = 7, .evaluate = true};
    const Trained without = train(setup);
    setup.trace_steps = StepRange{3, 5};
    bool traced = false;
    setup.on_traced = [&](Trace& trace) {
      traced = true;
      for (int stage = 0; stage < stages; ++stage) {
        const Recorded found = read(trace, stage);
        CHECK(found.in_order);
        CHECK(found.nested);
        CHECK(found.instructions ==
              expected(training_program(config, stages, 4).program, stage, *setup.trace_steps));
      }
    };
    CHECK(same_bits(train(setup).parameters, without.parameters));
    CHECK(traced);
  }
}

TEST_CASE("steps after the end of the run leave an empty trace", "[trace]") {
  TrainingSetup setup{.model = mlp_model, .config = make_config({.stages = 2}), .steps = 2};
  setup.trace_steps = StepRange{3, 5};
  setup.on_traced = [](Trace& trace) { CHECK(trace.empty()); };
  train(setup);
}

TEST_CASE("a step that one copy of each stage runs is traced whole", "[trace]") {
  const std::string workers = GENERATE("threads", "inline");
  const int microbatches = GENERATE(1, 4);
  for (const auto& [first, last] : {std::pair{2, 2}, {1, 2}, {2, 4}, {1, 7}}) {
    INFO(workers << ", " << microbatches << " micro-batches, steps " << first << " to " << last);
    Config config = make_config(
        {.stages = 3, .microbatches = microbatches, .schedule = "pipedream", .workers = workers});
    config.pipeline.replicas = {2};
    config.pipeline.recompute.rule = Recompute::Stage;
    std::ptrdiff_t forwards = 0;
    train({.model = mlp_model,
           .config = config,
           .steps = 7,
           .trace_steps = StepRange{first, last},
           .on_traced = [&](Trace& trace) {
             forwards = std::ranges::count_if(trace.take(), [](const TraceRecord& r) {
               return !r.waiting && r.instruction.op == Op::Forward;
             });
           }});
    CHECK(forwards == 3 * microbatches * (last - first + 1));
  }
}
