#include "runtime/segment_program.hpp"

#include <algorithm>

#include "schedules.hpp"

namespace pipetrain {

Program training_program(const Config& config, int stages) {
  return make_program(
      {.schedule = config.pipeline.schedule,
       .stages = stages,
       .microbatches = config.pipeline.microbatches,
       .minibatches = 1,
       .sync_gradients = config.optimizer.max_norm > 0 || config.training.on_nonfinite == "skip"});
}

Program evaluation_program(int stages) {
  Program program;
  program.stages = stages;
  for (int s = 0; s < stages; ++s) {
    auto& list = program.workers.emplace_back();
    list.push_back({s == 0 ? Op::LoadInput : Op::ReceiveActivation, {s}, {0}, {}});
    list.push_back({Op::Forward, {s}, {0}, {}});
    if (s + 1 < stages) list.push_back({Op::SendActivation, {s}, {0}, {}});
  }
  return program;
}

bool splits_backward(const Program& program) {
  for (const auto& worker : program.workers)
    if (std::any_of(worker.begin(), worker.end(),
                    [](const Instruction& i) { return i.op == Op::BackwardInput; }))
      return true;
  return false;
}

}  // namespace pipetrain
