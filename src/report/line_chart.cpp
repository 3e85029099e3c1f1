#include "report/line_chart.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/xml_text.hpp"
#include "report/colours.hpp"
#include "report/numbers.hpp"

namespace pipetrain {
namespace {

// In points of the picture; small, so that its text is readable even on a narrow screen.
constexpr double kChartWidth = 480, kChartHeight = 230, kChartLeft = 58, kChartRight = 14,
                 kChartTop = 10, kChartBottom = 40;

using Points = std::vector<std::pair<double, double>>;

// Neighbouring points become their mean, which leaves out values that are not finite.
Points thinned(const Points& points, std::size_t most) {
  if (points.size() <= most) return points;
  Points few;
  for (std::size_t i = 0; i < most; ++i) {
    const std::size_t begin = i * points.size() / most, end = (i + 1) * points.size() / most;
    double x = 0, y = 0;
    int finite = 0;
    for (std::size_t at = begin; at < end; ++at) {
      x += points[at].first;
      if (!std::isfinite(points[at].second)) continue;
      y += points[at].second;
      ++finite;
    }
    few.emplace_back(x / static_cast<double>(end - begin),
                     finite > 0 ? y / finite : std::numeric_limits<double>::quiet_NaN());
  }
  return few;
}

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void take(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // A line needs a range in which to be drawn, and ticks that differ: the last bits are none.
  void widen() {
    if (high - low > 1e-9 * std::max(std::abs(low), std::abs(high))) return;
    const double around = std::max(std::abs(high) * 0.1, 1e-9);
    low -= around, high += around;
  }
  double width() const { return high - low; }
};

// Multiples of a round number within the range.
std::vector<double> ticks(const Range& range) {
  const double step = tick_step(range.width(), 5);
  const double first = std::ceil(range.low / step), last = std::floor(range.high / step + 1e-6);
  std::vector<double> values;
  for (int i = 0; i <= last - first; ++i) values.push_back((first + i) * step);
  return values;
}

class ChartDrawing {
 public:
  explicit ChartDrawing(const Chart& chart) : chart_(chart) {
    for (const Series& series : chart.series) {
      lines_.push_back(chart.marks ? series.points : thinned(series.points, chart.most_points));
      for (auto& [x, y] : lines_.back()) {
        if (!std::isfinite(y)) continue;
        if (chart.y_limit) y = std::min(y, *chart.y_limit);
        x_.take(x);
        y_.take(y);
      }
    }
  }

  bool is_empty() const { return !(x_.low <= x_.high); }

  std::string draw() {
    x_.widen();
    y_.widen();
    std::string body = grid();
    for (std::size_t i = 0; i < lines_.size(); ++i) body += curve(chart_.series[i], lines_[i]);
    return fmt::format("<svg viewBox=\"0 0 {:g} {:g}\" role=\"img\" aria-label=\"{}\">{}</svg>",
                       kChartWidth, kChartHeight, xml_text(chart_.title), body);
  }

 private:
  double x_at(double x) const {
    return kChartLeft + (x - x_.low) / x_.width() * (kChartWidth - kChartLeft - kChartRight);
  }
  double y_at(double y) const {
    return kChartHeight - kChartBottom -
           (y - y_.low) / y_.width() * (kChartHeight - kChartTop - kChartBottom);
  }

  std::string grid() const {
    std::string text;
    for (const double y : ticks(y_))
      text += fmt::format(
          "<line class=\"grid\" x1=\"{0:g}\" x2=\"{1:g}\" y1=\"{2}\" y2=\"{2}\"/>"
          "<text class=\"end\" x=\"{3:g}\" y=\"{4}\">{5}</text>",
          kChartLeft, kChartWidth - kChartRight, coordinate(y_at(y)), kChartLeft - 6,
          coordinate(y_at(y) + 4), xml_text(chart_.y_text(y)));
    for (const double x : ticks(x_))
      text += fmt::format("<text class=\"mid\" x=\"{}\" y=\"{:g}\">{}</text>", coordinate(x_at(x)),
                          kChartHeight - kChartBottom + 17, xml_text(chart_.x_text(x)));
    return text + fmt::format("<text class=\"mid faint\" x=\"{}\" y=\"{:g}\">{}</text>",
                              coordinate((kChartLeft + kChartWidth - kChartRight) / 2),
                              kChartHeight - 6, xml_text(chart_.x_name));
  }

  std::string curve(const Series& series, const Points& points) const {
    std::string path, dots;
    bool begins = true;
    for (const auto& [x, y] : points) {
      if (!std::isfinite(y)) {
        begins = true;
        continue;
      }
      path += fmt::format("{}{} {}", begins ? "M" : "L", coordinate(x_at(x)), coordinate(y_at(y)));
      begins = false;
      if (chart_.marks)
        dots += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"3\"><title>{}{}: {}</title></circle>",
                            coordinate(x_at(x)), coordinate(y_at(y)),
                            series.name.empty() ? "" : xml_text(series.name) + ", ",
                            xml_text(fmt::format("{} {}", chart_.x_text(x), chart_.x_name)),
                            xml_text(chart_.y_text(y)));
    }
    return fmt::format("<g class=\"{}\"><path d=\"{}\"/>{}</g>", colour_class(series.colour), path,
                       dots);
  }

  const Chart& chart_;
  std::vector<Points> lines_;
  Range x_, y_;
};

std::string legend(const Chart& chart) {
  if (chart.series.size() < 2) return "";
  std::string text = "<div class=\"legend\">";
  for (const Series& series : chart.series)
    text += fmt::format("<span><i class=\"{}\"></i>{}</span>", colour_class(series.colour),
                        xml_text(series.name));
  return text + "</div>";
}

}  // namespace

double tick_step(double range, int most) {
  const double least = range / most;
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : {1., 2., 5.})
    if (factor * power >= least) return factor * power;
  return 10 * power;
}

std::string line_chart(const Chart& chart) {
  ChartDrawing drawing(chart);
  if (drawing.is_empty()) return "";
  return fmt::format("<figure><figcaption>{}</figcaption>{}{}</figure>\n", xml_text(chart.title),
                     drawing.draw(), legend(chart));
}

}  // namespace pipetrain
