// Curves over one pair of axes, as an SVG picture for a page: its colours are classes of the page's
// style, so it is light or dark like the page.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pipetrain {

struct Series {
  std::string name;
  std::size_t colour = 0;                         // class c0, c1, ...
  std::vector<std::pair<double, double>> points;  // ascending x; y not finite breaks the line
};

struct Chart {
  std::string title, x_name;
  std::vector<Series> series = {};
  bool marks = false;                                 // a dot at each point, which shows its values
  std::size_t most_points = 400;                      // a longer series is drawn as means
  std::optional<double> y_limit = {};                 // what is above is drawn at it
  std::function<std::string(double)> y_text, x_text;  // for ticks and dots
};

// A <figure>: title, picture and, if there are several series, a legend. A series with more than
// `most_points`, and without marks, shows means of neighbouring points. Empty if no point is
// finite.
std::string line_chart(const Chart& chart);

// The distance between ticks, 1, 2 or 5 times a power of ten, for at most `most` ticks over
// `range`.
double tick_step(double range, int most);

}  // namespace pipetrain
