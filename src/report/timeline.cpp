#include "report/timeline.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/xml_text.hpp"
#include "report/colours.hpp"
#include "report/line_chart.hpp"
#include "report/numbers.hpp"
#include "report/time_scale.hpp"

namespace pipetrain {
namespace {

// In points of the picture, which is as wide as a page and scrolls on a narrow one.
constexpr double kTimelineWidth = 1120, kLabelWidth = 66, kMarginRight = 10, kMarginTop = 6,
                 kComputeRow = 22, kTransferRow = 8, kStageRow = 40, kAxisHeight = 34;
constexpr double kShortest = 0.4;  // a narrower slice would not be visible
constexpr double kOfLetter = 7.5;  // width of a letter in a name
// Colours that have no other meaning in this picture.
constexpr std::array<std::size_t, 5> kOfVersions = {0, 1, 3, 4, 6};

double duration_ms(double microseconds) { return 1e-3 * microseconds; }

class TimelineDrawing {
 public:
  explicit TimelineDrawing(const TraceSlices& trace) : trace_(trace), time_(trace.slices) {
    for (const TraceSlice& slice : trace.slices) {
      stages_ = std::max(stages_, slice.stage + 1);
      if (slice.version && slice.kind != SliceKind::Update) colours_.emplace(*slice.version, 0);
    }
    std::size_t next = 0;
    for (auto& [version, colour] : colours_) colour = kOfVersions[next++ % kOfVersions.size()];
  }

  std::string draw() const {
    const double height = kMarginTop + kStageRow * stages_ + kAxisHeight;
    std::string text = fmt::format(
        "<div class=\"scroll\"><svg class=\"timeline\" viewBox=\"0 0 {:g} {:g}\" role=\"img\" "
        "aria-label=\"What each stage did in the steps shown\">",
        kTimelineWidth, height);
    for (int s = 0; s < stages_; ++s)
      text += fmt::format(
          "<text x=\"0\" y=\"{:g}\">stage {}</text>"
          "<rect class=\"idle\" x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\"/>",
          top_of(s) + 16, s, kLabelWidth, top_of(s), kTimelineWidth - kLabelWidth - kMarginRight,
          kComputeRow);
    for (const TraceSlice& slice : trace_.slices)
      if (slice.stage >= 0) text += box(slice);
    return text + breaks(height) + axis(height) + "</svg></div>" + legend();
  }

 private:
  static double top_of(int stage) { return kMarginTop + kStageRow * stage; }
  double x_of(double shown) const {
    return kLabelWidth + shown / time_.length() * (kTimelineWidth - kLabelWidth - kMarginRight);
  }

  std::string box(const TraceSlice& slice) const {
    const double x = x_of(time_.shown(slice.begin)),
                 width = x_of(time_.shown(slice.begin + slice.length)) - x;
    const bool computes = slice.kind == SliceKind::Forward || slice.kind == SliceKind::Backward ||
                          slice.kind == SliceKind::Update;
    if (!computes && width < kShortest) return "";
    const double y = top_of(slice.stage) + (computes ? 0 : kComputeRow + 2),
                 height = computes ? kComputeRow : kTransferRow;
    std::string text = fmt::format(
        "<g><title>{}, step {}: {:.3g} ms{}</title><rect class=\"{}\" x=\"{}\" y=\"{:g}\" "
        "width=\"{:.2f}\" height=\"{:g}\"/>",
        xml_text(slice.name), slice.step, duration_ms(slice.length),
        slice.version ? fmt::format(", version {} of the weights", *slice.version) : "",
        style_of(slice), coordinate(x), y, std::max(width, kShortest), height);
    if (computes && slice.kind != SliceKind::Update &&
        width > 6 + kOfLetter * static_cast<double>(slice.name.size()))
      text += fmt::format("<text class=\"mid in\" x=\"{}\" y=\"{:g}\">{}</text>",
                          coordinate(x + width / 2), y + 15.5, xml_text(slice.name));
    return text + "</g>";
  }

  std::string style_of(const TraceSlice& slice) const {
    switch (slice.kind) {
      case SliceKind::Update:
        return "update";
      case SliceKind::Transfer:
        return "transfer";
      case SliceKind::Waiting:
        return "waiting";
      default:
        break;
    }
    if (!slice.version) return "unversioned";
    return fmt::format("{} {}", slice.kind == SliceKind::Forward ? "forward" : "backward",
                       colour_class(colours_.at(*slice.version)));
  }

  std::string breaks(double height) const {
    std::string text;
    for (const auto& [at, left_out] : time_.breaks())
      text += fmt::format(
          "<g><title>{:.3g} ms left out</title><rect class=\"break\" x=\"{}\" y=\"0\" "
          "width=\"{:.2f}\" height=\"{:g}\"/></g>",
          duration_ms(left_out), coordinate(x_of(at)), x_of(at + time_.break_length()) - x_of(at),
          height - kAxisHeight);
    return text;
  }

  std::string axis(double height) const {
    std::string text;
    const double step = tick_step(duration_ms(time_.length()), 10);
    for (double at = 0; at <= duration_ms(time_.length()); at += step)
      text += fmt::format(
          "<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"{1:g}\" y2=\"{2:g}\"/>"
          "<text class=\"mid\" x=\"{0}\" y=\"{3:g}\">{4:g} ms</text>",
          coordinate(x_of(1e3 * at)), kMarginTop, height - kAxisHeight, height - kAxisHeight + 18,
          at);
    return text;
  }

  std::string legend() const {
    std::string text =
        "<div class=\"legend\"><span><i class=\"forward\"></i>forward (lighter)</span>"
        "<span><i class=\"backward\"></i>backward</span>"
        "<span><i class=\"unversioned\"></i>weight gradient (reads no weights)</span>"
        "<span><i class=\"update\"></i>update</span>"
        "<span><i class=\"idle\"></i>computes nothing</span>"
        "<span><i class=\"transfer\"></i>sends or receives</span>"
        "<span><i class=\"waiting\"></i>waits</span>";
    if (colours_.size() > 1 && colours_.size() <= kOfVersions.size())
      for (const auto& [version, colour] : colours_)
        text += fmt::format("<span><i class=\"backward {}\"></i>version {}</span>",
                            colour_class(colour), version);
    else if (colours_.size() > 1)
      text += fmt::format("<span>{} versions, whose colours repeat</span>", colours_.size());
    text += "</div>";
    double left_out = 0;
    for (const TimeScale::Break& one : time_.breaks()) left_out += one.left_out;
    if (left_out > 0)
      text += fmt::format(
          "<p class=\"faint\">Where the rows are interrupted, {:.3g} ms are left out: no stage "
          "worked "
          "on these steps then, as during a validation, a checkpoint or a measurement of "
          "stability.</p>",
          duration_ms(left_out));
    return text;
  }

  const TraceSlices& trace_;
  TimeScale time_;
  int stages_ = 0;
  std::map<std::int64_t, std::size_t> colours_;  // of versions
};

}  // namespace

std::string timeline(const TraceSlices& trace) {
  return trace.slices.empty() ? "" : TimelineDrawing(trace).draw();
}

}  // namespace pipetrain
