#include "metrics/live_view.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "base/bytes_text.hpp"

namespace pipetrain {
namespace {

constexpr int kBarWidth = 40;
constexpr int kLineWidth = 100;  // columns of a stage's row, at most

// "####....    ": the shares of the width that the stage computed and waited.
std::string shares_bar(double busy, double waiting) {
  const auto computes = static_cast<int>(std::lround(kBarWidth * std::clamp(busy, 0., 1.)));
  const auto waits = std::min(
      static_cast<int>(std::lround(kBarWidth * std::clamp(waiting, 0., 1.))), kBarWidth - computes);
  return fmt::format("{:#<{}}{:.<{}}{: <{}}", "", computes, "", waits, "",
                     kBarWidth - computes - waits);
}

}  // namespace

void LiveView::see(const StepSummary& summary) {
  last_ = summary;
  seconds_ += summary.seconds;
  idle_seconds_ += summary.bubble * summary.seconds;
  if (stages_.size() < summary.stages.size()) stages_.resize(summary.stages.size());
  for (std::size_t s = 0; s < summary.stages.size(); ++s) {
    stages_[s].busy += summary.stages[s].busy * summary.seconds;
    stages_[s].waiting += summary.stages[s].waiting * summary.seconds;
  }
}

std::string LiveView::draw(std::int64_t total_steps, TerminalSize size) {
  const std::int64_t total = std::max<std::int64_t>(1, total_steps);
  const auto full = static_cast<int>(kBarWidth * last_.step / total);
  std::string text =
      fmt::format("[{:=<{}}{: <{}}] {:3.0f}%", "", full, "", kBarWidth - full,
                  100.0 * static_cast<double>(last_.step) / static_cast<double>(total));
  // One row stays free, for the shell or for scrolling.
  const bool fits = size.rows >= static_cast<int>(stages_.size()) + 2 && size.columns >= kLineWidth;
  if (fits && seconds_ > 0)
    text +=
        fmt::format("  loss {:.4g}  bubble {:.0f}%", last_.loss, 100 * idle_seconds_ / seconds_) +
        stage_rows();
  seconds_ = idle_seconds_ = 0;
  stages_.clear();
  return text;
}

std::string LiveView::stage_rows() const {
  std::string text;
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    const double busy = stages_[s].busy / seconds_, waiting = stages_[s].waiting / seconds_;
    const StageSummary& stage = last_.stages[s];
    text += fmt::format("\nstage {:<3} |{}| computes {:3.0f}%  waits {:3.0f}%  {:>9}", s,
                        shares_bar(busy, waiting), 100 * busy, 100 * waiting,
                        bytes_text(stage.memory_bytes));
    if (stage.weight_versions > 1) text += fmt::format("  {} versions", stage.weight_versions);
  }
  return text;
}

std::string wipe_text(const std::string& drawn) {
  const auto lines_above = std::ranges::count(drawn, '\n');
  return lines_above == 0 ? "\r\033[K" : fmt::format("\r\033[{}A\033[J", lines_above);
}

}  // namespace pipetrain
