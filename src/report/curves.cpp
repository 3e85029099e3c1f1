#include "report/curves.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <cmath>

#include "report/line_chart.hpp"
#include "report/numbers.hpp"

namespace pipetrain {
namespace {

std::string plain(double value) {
  return std::abs(value) < 1000 ? fmt::format("{:.4g}", value)
                                : count_text(std::llround(std::min(value, 1e15)));
}

template <class Point, class X, class Y>
Series series_of(const RunRecord& run, std::size_t colour, const std::vector<Point>& points, X x,
                 Y y) {
  Series series{.name = run.name, .colour = colour, .points = {}};
  for (const Point& point : points)
    if (const auto value = y(point)) series.points.emplace_back(x(point), *value);
  return series;
}

template <class Figure>
std::string step_chart(std::span<const RunRecord> runs, const std::string& title, Figure figure,
                       std::size_t most_points = 400) {
  Chart chart{.title = title,
              .x_name = "step",
              .most_points = most_points,
              .y_text = plain,
              .x_text = plain};
  for (std::size_t r = 0; r < runs.size(); ++r)
    chart.series.push_back(series_of(
        runs[r], r, runs[r].steps, [](const StepPoint& p) { return double(p.step); },
        [&](const StepPoint& p) { return std::optional(p.*figure); }));
  return line_chart(chart);
}

template <class X>
std::string validation_chart(std::span<const RunRecord> runs, Measure measure,
                             const std::string& x_name, X x) {
  const std::string name = measure_words(measure).name;
  Chart chart{.title = measure == Measure::Loss ? name : "validation " + name,
              .x_name = x_name,
              .marks = true,
              .y_text = [measure](double value) { return value_text(measure, value); },
              .x_text = plain};
  if (x_name != "step") chart.title += " over " + x_name;
  for (std::size_t r = 0; r < runs.size(); ++r)
    chart.series.push_back(
        series_of(runs[r], r, runs[r].validations, x,
                  [&](const ValidationPoint& p) { return value_of(p, measure); }));
  return line_chart(chart);
}

constexpr std::size_t kSpeedPoints = 60;  // of samples per second, which jump from step to step
constexpr double kRatesShown = 3;         // times the largest rate used: further up nothing is near

// With the largest stable rate in the same chart, if that was measured.
std::string rate_chart(const RunRecord& run) {
  Chart chart{.title = "learning rate", .x_name = "step", .y_text = plain, .x_text = plain};
  chart.series.push_back(series_of(
      run, 0, run.steps, [](const StepPoint& p) { return double(p.step); },
      [](const StepPoint& p) { return std::optional(p.lr); }));
  if (run.stability.empty()) return line_chart(chart);
  double most = 0;
  for (const StepPoint& point : run.steps) most = std::max(most, point.lr);
  if (most > 0) chart.y_limit = kRatesShown * most;
  chart.title += fmt::format(", and the largest stable one (up to {:.3g})", kRatesShown * most);
  chart.series[0].name = "learning rate";
  chart.series.push_back(series_of(
      run, 1, run.stability, [](const StabilityPoint& p) { return double(p.step); },
      [](const StabilityPoint& p) { return std::optional(p.lr_edge); }));
  chart.series[1].name = "largest stable rate";
  return line_chart(chart);
}

}  // namespace

std::string curves(std::span<const RunRecord> runs) {
  const auto step = [](const ValidationPoint& p) { return double(p.step); };
  std::string text = "<div class=\"charts\">";
  text += step_chart(runs, "training loss", &StepPoint::loss);
  const auto measure = common_measure(runs);
  if (measure) {
    if (runs.size() > 1) {
      text += validation_chart(runs, *measure, "seconds of training",
                               [](const ValidationPoint& p) { return p.seconds; });
      text += validation_chart(runs, *measure, "epochs",
                               [](const ValidationPoint& p) { return p.epoch; });
    } else {
      text += validation_chart(runs, *measure, "step", step);
    }
  }
  for (const Measure other : all_measures)
    if (other != measure) text += validation_chart(runs, other, "step", step);
  text += step_chart(runs, "samples per second", &StepPoint::samples_per_second, kSpeedPoints);
  if (runs.size() == 1) text += rate_chart(runs[0]);
  return text + "</div>\n";
}

}  // namespace pipetrain
