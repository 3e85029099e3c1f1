// Curves over one pair of axes, as an SVG picture for a page: its colours are classes of the page's
// style, so it is light or dark as the page is.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace pipetrain {

struct Series {
  std::string name;
  std::size_t colour = 0;                         // class c0, c1, ...
  std::vector<std::pair<double, double>> points;  // x rises; a y that is not finite breaks the line
};

struct Chart {
  std::string title, x_name;
  std::vector<Series> series = {};
  bool marks = false;                                 // a dot at each point, which says its values
  std::function<std::string(double)> y_text, x_text;  // of a tick, and of a dot
};

// A <figure>: title, picture, and a legend where there are several series. A series of more points
// than the picture is wide shows the mean of neighbours. Empty where no point is finite.
std::string line_chart(const Chart& chart);

// 1, 2 or 5 times a power of ten: the distance between ticks, at most `most` of them over `range`.
double tick_step(double range, int most);

}  // namespace pipetrain
