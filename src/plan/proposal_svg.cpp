#include "plan/proposal_svg.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "base/xml_text.hpp"
#include "plan/proposal_words.hpp"

namespace pipetrain {
namespace {

// Columns and rows, in points.
constexpr double kLeft = 20, kLayers = 88, kTimes = 424, kTimeWidth = 204, kMemory = 848,
                 kMemoryWidth = 96, kWidth = 1040;
constexpr double kTop = 96, kStageHeight = 40, kTransferHeight = 26, kBar = 18, kThinBar = 8;
constexpr std::size_t kLongest = 44;  // characters that fit into the column of layers

constexpr std::string_view kStyle =
    "<style>text{font:13px Helvetica,Arial,sans-serif;fill:#1f2328}.title{font-size:16px;"
    "font-weight:bold}.faint{fill:#57606a}.head{fill:#57606a;font-size:12px}.ground{fill:#fff}"
    ".line{stroke:#d0d7de;stroke-width:1}.time{fill:#4c78a8}.transfer{fill:#8a94a0}"
    ".memory{fill:#5ba053}.bound{fill:#c8501e}.mark{fill:#b5420f;font-weight:bold}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.faint,.head{fill:#9aa4b0}"
    ".ground{fill:#0d1117}.line{stroke:#30363d}.time{fill:#6ea3d8}.transfer{fill:#7d8794}"
    ".memory{fill:#6fbf66}.bound{fill:#ef7d4a}.mark{fill:#ff9a68}}</style>\n";

std::string written(std::string_view style, double x, double y, std::string_view text) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", style, x, y,
                     xml_text(text));
}

std::string bar(std::string_view style, double x, double y, double width, double height) {
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:g}\" rx=\"2\"/>\n",
      style, x, y, std::max(width, 1.0), height);
}

// As much of the text as fits, in whole characters of UTF-8.
std::string shortened(std::string text) {
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
    if (begins && ++characters > kLongest) return text.substr(0, at) + "...";
  }
  return text;
}

class Picture {
 public:
  explicit Picture(const Proposal& proposal)
      : proposal_(proposal), bottleneck_(bottleneck_of(proposal)) {
    for (const ProposedStage& stage : proposal.stages) {
      longest_ms_ = std::max({longest_ms_, stage.time_ms, stage.transfer_ms.value_or(0)});
      most_bytes_ = std::max(most_bytes_, static_cast<double>(stage.memory_bytes.value_or(0)));
    }
  }

  std::string draw() {
    std::string body = head();
    for (std::size_t s = 0; s < proposal_.stages.size(); ++s) body += stage(s);
    const double height = y_ + 12;
    return fmt::format(
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" "
               "viewBox=\"0 0 {0:g} {1:g}\">\n{2}<rect class=\"ground\" width=\"100%\" "
               "height=\"100%\"/>\n",
               kWidth, height, kStyle) +
           body + "</svg>\n";
  }

 private:
  std::string head() const {
    const std::string below = fmt::format("{}, {}, a step of {}; speedup {}", proposal_.schedule,
                                          microbatches_text(proposal_), ms_text(proposal_.step_ms),
                                          speedup_text(proposal_));
    return written("title", kLeft, 30, title_text(proposal_)) + written("faint", kLeft, 52, below) +
           written("head", kLayers, kTop - 14, "layers") +
           written("head", kTimes, kTop - 14, "time of a micro-batch, and of its transfer") +
           written("head", kMemory, kTop - 14, "memory of a device") +
           fmt::format(
               "<line class=\"line\" x1=\"{0:g}\" x2=\"{1:g}\" y1=\"{2:g}\" y2=\"{2:g}\"/>\n",
               kLeft, kWidth - kLeft, kTop - 6);
  }

  bool bounds(std::size_t s, bool transfer) const {
    return bottleneck_ && bottleneck_->transfer == transfer &&
           std::ranges::find(bottleneck_->stages, s) != bottleneck_->stages.end();
  }

  std::string stage(std::size_t s) {
    const ProposedStage& stage = proposal_.stages[s];
    const std::string runs =
        stage.replicas == 1
            ? fmt::format("device {}", devices_text(stage.devices))
            : fmt::format("{} replicas, devices {}", stage.replicas, devices_text(stage.devices));
    std::string text = written("", kLeft, y_ + 16, fmt::format("stage {}", s)) +
                       written("", kLayers, y_ + 16, shortened(layers_text(stage))) +
                       written("faint", kLayers, y_ + 33, shortened(runs)) +
                       timed(stage.time_ms, y_ + 3, kBar, "time", bounds(s, false));
    if (stage.memory_bytes) text += memory(s);
    y_ += kStageHeight;
    if (s + 1 == proposal_.stages.size()) return text;
    if (stage.transfer_ms)
      text += written("faint", kLayers, y_ + 15, "to the next stage and back") +
              timed(*stage.transfer_ms, y_ + 7, kThinBar, "transfer", bounds(s, true));
    y_ += kTransferHeight;
    return text;
  }

  // A bar, with its time next to it.
  std::string timed(double ms, double y, double height, std::string_view style, bool bound) const {
    const double width = longest_ms_ > 0 ? ms / longest_ms_ * kTimeWidth : 0;
    const double middle = y + height / 2 + 5;
    return bar(bound ? "bound" : style, kTimes, y, width, height) +
           written(bound ? "mark" : "", kTimes + width + 8, middle,
                   fmt::format("{}{}", ms_text(ms), bound ? bottleneck_mark() : ""));
  }

  std::string_view bottleneck_mark() const {
    return bottleneck_ && bottleneck_->stages.size() > 1 ? " (of the bottleneck)" : " (bottleneck)";
  }

  // Once for each device, with its first stage.
  std::string memory(std::size_t s) const {
    const std::string held = held_text(proposal_, s);
    if (first_beside(proposal_, s) != s) return written("faint", kMemory, y_ + 17, held);
    const auto bytes = static_cast<double>(proposal_.stages[s].memory_bytes.value_or(0));
    const double width = most_bytes_ > 0 ? bytes / most_bytes_ * kMemoryWidth : 0;
    return bar("memory", kMemory, y_ + 3, width, kBar) +
           written("", kMemory + width + 8, y_ + 17, held);
  }

  const Proposal& proposal_;
  const std::optional<Bottleneck> bottleneck_;
  double longest_ms_ = 0, most_bytes_ = 0;
  double y_ = kTop;
};

}  // namespace

std::string proposal_svg(const Proposal& proposal) { return Picture(proposal).draw(); }

}  // namespace pipetrain
