// From the records that stages leave to what is reported of a step, on the console and in
// metrics.jsonl.
#pragma once

#include <chrono>

#include "metrics/step_summary.hpp"
#include "run/session.hpp"
#include "runtime/step_board.hpp"

namespace pipetrain {

// Turns records, which must come in order, into summaries; a step lasts from the end of the
// previous one.
class StepReporter {
 public:
  // `memory`: per stage; `workers`: how many run the stages.
  StepReporter(const TrainingLength& length, std::vector<HeldMemory> memory, int workers);
  // Starts a segment: the time since the last step (a validation) belongs to no step.
  void begin_segment();
  StepSummary summarize(const StepRecord& record);
  void set_memory(std::vector<HeldMemory> memory) { memory_ = std::move(memory); }

 private:
  TrainingLength length_;
  std::vector<HeldMemory> memory_;
  int workers_;
  std::int64_t last_end_ns_ = 0;
};

}  // namespace pipetrain
