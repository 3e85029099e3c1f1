// The grid on a terminal: a row per worker, a column per unit of time, and the numbers below it.
#include <algorithm>
#include <cmath>
#include <utility>

#include <spdlog/fmt/fmt.h>
#include "base/error.hpp"
#include "base/ink.hpp"
#include "program/format.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

// The largest time of which both are multiples, apart from rounding.
double common_divisor(double a, double b) {
  for (const double tiny = std::max(a, b) * 1e-6; b > tiny;) a = std::exchange(b, std::fmod(a, b));
  return a;
}

// The time of one column: what divides all starts and durations, or the shortest duration if that
// would take too many columns.
double column_time(const Program& program, const Timeline& line) {
  double shortest = 0, divisor = 0;
  for (std::size_t w = 0; w < program.workers.size(); ++w)
    for (const Cell& cell : cells_of(program, line, w)) {
      const auto [start, end] = cell.span;
      if (end <= start) continue;
      shortest = shortest == 0 ? end - start : std::min(shortest, end - start);
      divisor = common_divisor(common_divisor(divisor, start), end - start);
    }
  return divisor * 4 >= shortest ? divisor : shortest;
}

std::size_t label_width(const Program& program, const Timeline& line) {
  std::size_t width = 1;
  for (std::size_t w = 0; w < program.workers.size(); ++w)
    for (const Cell& cell : cells_of(program, line, w))
      width = std::max(width, cell_text(program, cell).size());
  return width;
}

struct Row {
  std::size_t width;  // of a cell, without the mark after it
  std::string text = {};
  std::size_t columns = 0;

  void idle_until(std::size_t column) {
    for (; columns < column; ++columns) text += fmt::format("{:>{}} ", ".", width);
  }
  void put(const std::string& label, std::size_t end, Ink ink) {
    if (columns >= end) return;
    const std::string dashes((end - columns - 1) * (width + 1), '-');
    text += inked(fmt::format("{:>{}}{}", label, width, dashes), ink) + " ";
    columns = end;
  }
};

Ink ink_of(Op op) {
  switch (op) {
    case Op::Forward:
      return Ink::Blue;
    case Op::BackwardWeight:
    case Op::BackwardWeightUpdate:
      return Ink::Green;
    case Op::Recompute:
      return Ink::Magenta;
    default:
      return Ink::Yellow;  // a backward, whole or its first half
  }
}

std::string list_of(const std::vector<int>& values) {
  return fmt::format("{}", fmt::join(values, " "));
}

void require_legible(const Program& program, const Timeline& line, double unit) {
  constexpr double columns_of_cell = 200;  // on average, all columns shared out among the cells
  std::size_t cells = 10;
  for (std::size_t w = 0; w < program.workers.size(); ++w)
    cells = std::max(cells, cells_of(program, line, w).size());
  if (unit == 0 || line.makespan / unit <= columns_of_cell * static_cast<double>(cells)) return;
  throw UsageError(
      fmt::format("the picture would be {:.3g} columns wide, since one of the times is so much "
                  "shorter than others; write --format svg for a picture to scale, or --summary "
                  "for the numbers",
                  line.makespan / unit));
}

// What a worker has in flight: each of several stages on it counts separately.
std::string_view counted(const Program& program) {
  return program.stages > static_cast<int>(program.workers.size()) ? "micro-batches times stages"
                                                                   : "micro-batches";
}

}  // namespace

std::string time_text(double time, double whole) {
  if (std::abs(time) <= 1e-9 * whole) return "0";
  const int digits = std::abs(time) < 1 ? 0 : static_cast<int>(std::log10(std::abs(time))) + 1;
  return fmt::format("{:.{}g}", time, std::max(6, digits));
}

std::string draw(const Program& program, const Timeline& line, bool colour) {
  const double unit = column_time(program, line);
  require_legible(program, line, unit);
  const auto column = [&](double time) {
    return unit > 0 ? static_cast<std::size_t>(std::lround(time / unit)) : 0;
  };
  const auto width = label_width(program, line);
  std::string text;
  for (std::size_t w = 0; w < program.workers.size(); ++w) {
    std::vector<Row> rows(static_cast<std::size_t>(rows_per_worker(line)), Row{width});
    const std::vector<Cell> cells = cells_of(program, line, w);
    auto cell = cells.begin();
    for (const Instruction& i : program.workers[w]) {
      Row& row = rows[static_cast<std::size_t>(row_of(line, i.op))];
      if (cell != cells.end() && cell->instruction == &i) {
        row.idle_until(column(cell->span.start));
        row.put(cell_text(program, *cell), column(cell->span.end),
                colour ? ink_of(cell->op) : Ink::Plain);
        ++cell;
      }
      if (updates(i.op) && !row.text.empty()) row.text.back() = '|';
    }
    for (int r = 0; r < std::ssize(rows); ++r) {
      std::string& row = rows[static_cast<std::size_t>(r)].text;
      while (row.ends_with(' ')) row.pop_back();
      text += row_name(program, line, w, r) + "  " + row + "\n";
    }
  }
  return text;
}

std::string format_text(const ScheduleView& view) {
  const auto& line = view.timeline;
  auto text = fmt::format("{}; one column is {}\n\n{}\n", view.title,
                          time_text(column_time(view.program, line), 0),
                          draw(view.program, line, view.colour));
  text += fmt::format("makespan              {}\n", time_text(line.makespan, 0));
  text += fmt::format("bubble                {:.4f} of the workers' time\n", line.bubble);
  std::string idle;
  for (const double time : line.idle) idle += time_text(time, line.makespan) + " ";
  text += fmt::format(
      "idle                  {} (per worker, between its first and last instruction)\n", idle);
  text += fmt::format("peak activations      {}  ({} in flight, per worker)\n",
                      list_of(line.peak_activations), counted(view.program));
  text +=
      fmt::format("peak weight versions  {}  (per worker)\n", list_of(line.peak_weight_versions));
  return text;
}

}  // namespace pipetrain
