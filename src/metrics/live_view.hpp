// What a terminal shows under the last line of a training, drawn over and over: how far it is, and
// a row for each stage: how much of the time since the last drawing it computed and waited.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/terminal_size.hpp"
#include "metrics/step_summary.hpp"

namespace pipetrain {

class LiveView {
 public:
  void see(const StepSummary& summary);

  // Lines without a newline after the last one; begins to count afresh. The rows of stages are left
  // out where the terminal is too small for all of them, or its size is unknown.
  std::string draw(std::int64_t total_steps, TerminalSize size);

 private:
  struct StageTimes {
    double busy = 0, waiting = 0;  // seconds
  };
  std::string stage_rows() const;

  StepSummary last_;
  double seconds_ = 0, idle_seconds_ = 0;
  std::vector<StageTimes> stages_;
};

// What takes a drawing away: the cursor is at the end of its last line, then where it began.
std::string wipe_text(const std::string& drawn);

}  // namespace pipetrain
