// What a terminal shows below the last line of a training, redrawn in place: how far it is, and for
// each stage a row with the shares of the time since the last drawing that it computed and waited.
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

  // Returns lines, without a newline after the last one, and starts counting again. Leaves out the
  // rows of stages if the terminal is too small for all of them, or its size is unknown.
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

// What removes a drawing: the cursor must be at the end of its last line, and is then where it
// began.
std::string wipe_text(const std::string& drawn);

}  // namespace pipetrain
