// What a person sees while training: one line per log interval and, on a terminal, a live view
// below it that is redrawn in place. A pipe gets only plain lines.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/line_output.hpp"
#include "base/terminal_size.hpp"
#include "metrics/live_view.hpp"
#include "metrics/step_summary.hpp"
#include "metrics/time_left.hpp"

namespace pipetrain {

struct ConsoleOptions {
  LineOutput* out = &standard_output();  // must outlive the console
  bool quiet = false;
  bool terminal = false;                    // `out` is a terminal: draw the live view
  std::function<TerminalSize()> size = {};  // unset: draws only the view's first line
  std::int64_t log_every_steps = 10;
  std::int64_t total_steps = 1, total_epochs = 1;
};

// Never waits for a reader: see LineOutput. DeviceError, once, if `out` is a file that cannot be
// written; after that nothing is printed.
class Console {
 public:
  explicit Console(const ConsoleOptions& options) : options_(options) {}

  void step(const StepSummary& summary);
  void line(const std::string& text);  // anything else: the plan, a validation
  void last(const std::string& text);  // a line that is never dropped
  void end();                          // wipes the live view
  // A validation has ended; `left` more are to come.
  void validated(double seconds, std::int64_t left) { time_left_.validation(seconds, left); }
  std::int64_t dropped_lines() const { return options_.out->dropped_lines(); }

 private:
  void print(const std::string& text, bool keep = false);
  void wipe();
  void draw();

  ConsoleOptions options_;
  TimeLeft time_left_;
  double interval_seconds_ = 0, total_seconds_ = 0, last_drawing_ = 0;
  std::int64_t interval_samples_ = 0;
  double interval_bubble_ = 0;
  LiveView live_;
  std::string drawn_;  // what is on the terminal now
};

// One line of a training; columns stay aligned whatever the numbers.
struct StepColumns {
  double samples_per_second = 0, bubble = 0, seconds_left = 0;
  std::int64_t total_steps = 1, total_epochs = 1;
};
std::string step_line(const StepSummary& summary, const StepColumns& columns);

std::string duration_text(double seconds);  // "1:05", "2:03:05"

}  // namespace pipetrain
