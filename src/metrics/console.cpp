#include "metrics/console.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/bytes_text.hpp"
#include "base/error.hpp"

namespace pipetrain {

std::string duration_text(double seconds) {
  const auto s = static_cast<std::int64_t>(seconds + 0.5);
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

std::string step_line(const StepSummary& s, const StepColumns& columns) {
  std::size_t memory = 0;
  for (const StageSummary& stage : s.stages) memory += stage.memory_bytes;
  // The widest non-negative numbers of four digits: 0.0006677 and 1.234e-05.
  return fmt::format(
      "step {:>{}}/{}  epoch {:>{}}  loss {:<#9.4g}  norm {:<#8.3g}  lr {:<#8.3g}  "
      "{:>8.0f} samples/s  bubble {:>3.0f}%  memory {}  ETA {}{}",
      s.step, fmt::formatted_size("{}", columns.total_steps), columns.total_steps, s.epoch,
      fmt::formatted_size("{}", columns.total_epochs), s.loss, s.grad_norm, s.lr,
      columns.samples_per_second, 100 * columns.bubble, bytes_text(memory),
      duration_text(columns.seconds_left), s.skipped ? "  gradient not finite: skipped" : "");
}

void Console::step(const StepSummary& s) {
  options_.out->flush();  // waiting lines, for a reader that has come back
  interval_seconds_ += s.seconds;
  total_seconds_ += s.seconds;
  interval_samples_ += s.samples;
  interval_bubble_ += s.bubble * s.seconds;
  time_left_.step(s.seconds);
  if (options_.terminal) live_.see(s);
  const bool due = s.step % options_.log_every_steps == 0 || s.step == options_.total_steps;
  if (due) {
    const double seconds = std::max(interval_seconds_, 1e-9);
    line(step_line(s, {.samples_per_second = static_cast<double>(interval_samples_) / seconds,
                       .bubble = interval_bubble_ / seconds,
                       .seconds_left = time_left_.seconds(options_.total_steps - s.step),
                       .total_steps = options_.total_steps,
                       .total_epochs = options_.total_epochs}));
    interval_seconds_ = interval_bubble_ = 0;
    interval_samples_ = 0;
  }
  if (due || total_seconds_ - last_drawing_ > 0.1) draw();
}

void Console::line(const std::string& text) {
  if (options_.quiet) return;
  wipe();
  print(text + "\n");
}

void Console::last(const std::string& text) {
  if (options_.quiet) return;
  wipe();
  print(text + "\n", true);
}

void Console::end() { wipe(); }

void Console::print(const std::string& text, bool keep) {
  try {
    keep ? options_.out->keep(text) : options_.out->write(text);
  } catch (const DeviceError& error) {
    options_.quiet = true;
    drawn_.clear();
    throw DeviceError(fmt::format("{}, or train with --quiet", error.what()));
  }
}

void Console::wipe() {
  if (!drawn_.empty()) print(wipe_text(drawn_));
  drawn_.clear();
}

void Console::draw() {
  if (options_.quiet || !options_.terminal || !options_.out->flush()) return;
  wipe();
  const std::string text =
      live_.draw(options_.total_steps, options_.size ? options_.size() : TerminalSize{});
  print(text);
  if (!options_.quiet) drawn_ = text;
  last_drawing_ = total_seconds_;
}

}  // namespace pipetrain
