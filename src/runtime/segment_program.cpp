#include "runtime/segment_program.hpp"

#include <algorithm>

#include "program/liveness.hpp"
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

namespace {

// The most micro-batches of a stage whose weight half is still to come behind their input half.
int put_off(const Program& program, StageId stage) {
  int most = 0;
  for (const auto& worker : program.workers) {
    int now = 0;
    for (const Instruction& i : worker) {
      if (i.stage != stage) continue;
      if (i.op == Op::BackwardInput) most = std::max(most, ++now);
      if (i.op == Op::BackwardWeight) --now;
    }
  }
  return most;
}

}  // namespace

std::vector<PacketCounts> packet_counts(const Program& program) {
  const std::vector<int> in_flight = peak_activations(program);
  std::vector<PacketCounts> counts;
  for (int s = 0; s + 1 < program.stages; ++s)
    counts.push_back({in_flight[static_cast<std::size_t>(s)] + put_off(program, {s + 1}),
                      3 + put_off(program, {s})});
  return counts;
}

}  // namespace pipetrain
