#include "profile/predict_step.hpp"

#include <algorithm>

#include "compile/pipeline_threads.hpp"
#include "machine/threads.hpp"
#include "profile/stage_prices.hpp"
#include "program/fold.hpp"
#include "program/simulate.hpp"

namespace pipetrain {
namespace {

// The instructions of this many rounds: of the loop of a folded program, or of a whole program.
Program rounds_of(const SegmentProgram& segment, int rounds) {
  if (!segment.loops.empty()) return unfold({segment.program, segment.loops}, rounds);
  Program program = segment.program;
  program.minibatches *= rounds;
  for (std::size_t w = 0; w < program.workers.size(); ++w) {
    auto& list = program.workers[WorkerId{static_cast<int>(w)}];
    const auto once = list;
    for (int r = 1; r < rounds; ++r)
      for (const Instruction& i : once)
        list.push_back(shifted(i, segment.program, r * segment.program.minibatches));
  }
  return program;
}

// The work of all instructions, per stage.
std::vector<double> work_in(const Program& program, const Costs& costs) {
  std::vector<double> work(static_cast<std::size_t>(program.stages));
  for (const auto& list : program.workers)
    for (const Instruction& i : list)
      work[static_cast<std::size_t>(i.stage.value)] += time_of(costs.of(i.stage), i.op);
  return work;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// What each further mini-batch adds once several are in flight.
struct Growth {
  Program few, many;
  double minibatches = 1;
};

Growth growth_of(const SegmentProgram& segment) {
  const Program& program = segment.program;
  const bool drains = segment.loops.empty();
  const int each = drains ? program.minibatches : program.minibatches_per_round();
  const int rounds = drains ? 3 : timed_rounds(program.stages, each * program.microbatches);
  return {rounds_of(segment, rounds), rounds_of(segment, 2 * rounds),
          static_cast<double>(rounds * each)};
}

// If workers have fewer cores than threads: all work of a mini-batch, shared by the cores.
double shared_ms(const CompiledPipeline& pipeline, const Growth& growth, const Costs& costs) {
  const Config& config = pipeline.in.config;
  const double work = sum_of(work_in(growth.many, costs)) - sum_of(work_in(growth.few, costs));
  const double threads = workers_at_once(config) * threads_for(config).threads_per_stage;
  return work / growth.minibatches / workers_at_once(config) *
         std::max(1.0, threads / available_cores());
}

}  // namespace

PredictedStep predict_step(const CompiledPipeline& pipeline, const Profile& profile) {
  const StagePrices prices = stage_prices(pipeline, profile);
  const Growth growth = growth_of(pipeline.needs.program);
  const auto time = [&](const Program& program) {
    return is_inline(pipeline.in.config) ? sum_of(work_in(program, prices.all))
                                         : simulate(program, prices.all).makespan;
  };
  const double longest_path = (time(growth.many) - time(growth.few)) / growth.minibatches;
  PredictedStep step{.step_ms = std::max(longest_path, shared_ms(pipeline, growth, prices.all)),
                     .busy = work_in(growth.many, prices.work)};
  const std::vector<double> less = work_in(growth.few, prices.work);
  for (std::size_t s = 0; s < step.busy.size(); ++s)
    step.busy[s] = (step.busy[s] - less[s]) / growth.minibatches / step.step_ms;
  step.bubble =
      std::clamp(1 - sum_of(step.busy) / static_cast<double>(growth.many.workers.size()), 0.0, 1.0);
  for (StageId s{0}; s.value < growth.many.stages; ++s.value)
    step.busy[static_cast<std::size_t>(s.value)] /= growth.many.copies_of(s);
  return step;
}

}  // namespace pipetrain
