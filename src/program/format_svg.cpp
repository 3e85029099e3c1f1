// The figure for a paper: a row per worker, a box per compute instruction, the micro-batch in it,
// colour by kind, lighter in every other mini-batch, a tick per update, a time axis and a legend.
// Where forwards and backwards read other versions of the weights than the pipeline's last drain
// left, each box names its own.
#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include <spdlog/fmt/fmt.h>
#include "base/xml_text.hpp"
#include "program/format.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

constexpr double left = 80, top = 44, right = 20;

struct Kind {
  Op op;
  std::string_view colours[2];  // of even and odd mini-batches
  std::string_view name;
};
constexpr std::array<Kind, 7> kinds{{
    {Op::Forward, {"#4c78a8", "#7fa6d0"}, "forward"},
    {Op::Backward, {"#e8923c", "#f2b97c"}, "backward"},
    {Op::BackwardInput, {"#e8923c", "#f2b97c"}, "backward, input half"},
    {Op::BackwardHead, {"#e8923c", "#f2b97c"}, "backward, up to its send"},
    {Op::BackwardTail, {"#5ba053", "#90c98a"}, "backward, after its send"},
    {Op::BackwardWeight, {"#5ba053", "#90c98a"}, "backward, weight half"},
    {Op::Recompute, {"#9a9a9a", "#c0c0c0"}, "recompute"},
}};

const Kind& kind_of(Op op) {
  return *std::find_if(kinds.begin(), kinds.end(), [&](const Kind& k) { return k.op == op; });
}

// Is the version of each micro-batch the number of its mini-batch, so that showing it adds nothing?
bool shows_versions(const Program& program) {
  for (const auto& list : program.workers)
    for (const Instruction& i : list)
      if (reads_weights(i.op) &&
          i.weights != WeightRead{{program.minibatch_of(i.microbatch).value}, AsStored{}})
        return true;
  return false;
}

bool mixes(const Program& program) {
  for (const auto& list : program.workers)
    for (const Instruction& i : list)
      if (!std::holds_alternative<AsStored>(i.weights.how)) return true;
  return false;
}

// v4, v4-1.5δ for weights set back along their motion, v2..4 for a mixture.
std::string version_text(const WeightRead& read) {
  if (const auto* back = std::get_if<Extrapolate>(&read.how))
    return fmt::format("v{}-{:.3g}δ", read.version.value, back->updates);
  if (const auto* blend = std::get_if<Blend>(&read.how))
    return fmt::format("v{}..{}", blend->other.value, read.version.value);
  return fmt::format("v{}", read.version.value);
}

struct Look {
  bool versions = false;
  double scale = 1;  // points per unit of time
  double box_height = 24, row_height = 30;
  int rows = 1;  // of each worker

  double y(std::size_t worker, int row) const {
    return top + row_height * static_cast<double>(worker * static_cast<std::size_t>(rows) +
                                                  static_cast<std::size_t>(row));
  }
};

// Points per unit of time: the shortest box has room for its text, the picture stays drawable.
double scale_of(const ScheduleView& view, double room) {
  double shortest = view.timeline.makespan;
  for (std::size_t w = 0; w < view.program.workers.size(); ++w)
    for (const Cell& cell : cells_of(view.program, view.timeline, w))
      if (cell.span.end > cell.span.start)
        shortest = std::min(shortest, cell.span.end - cell.span.start);
  if (!(shortest > 0)) return 1;
  return std::min(room / shortest, 20000 / view.timeline.makespan);
}

Look look_of(const ScheduleView& view) {
  Look look;
  look.rows = rows_per_worker(view.timeline);
  look.versions = shows_versions(view.program);
  if (look.versions) look.box_height = 34, look.row_height = 40;
  look.scale = scale_of(view, look.versions && mixes(view.program) ? 44 : 26);
  return look;
}

std::string box(const ScheduleView& view, std::size_t worker, const Cell& cell, const Look& look) {
  const Instruction& i = *cell.instruction;
  const Span& span = cell.span;
  const double x = left + span.start * look.scale, y = look.y(worker, row_of(view.timeline, i.op));
  const double width = (span.end - span.start) * look.scale;
  if (width <= 0) return "";
  const auto colour = kind_of(cell.op).colours[view.program.minibatch_of(i.microbatch).value % 2];
  const auto label = view.program.placement.empty() ? cell.number : cell_text(view.program, cell);
  const auto version =
      look.versions && reads_weights(i.op)
          ? fmt::format("<text class=\"version\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>",
                        x + width / 2, y + 28, version_text(i.weights))
          : "";
  return fmt::format(
      "<g><title>{}: {:g} to {:g}</title><rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" "
      "height=\"{:g}\" "
      "fill=\"{}\"/><text class=\"number\" x=\"{:.2f}\" y=\"{:.2f}\">{}</text>{}</g>\n",
      to_text(i), span.start, span.end, x, y, width, look.box_height, colour, x + width / 2, y + 16,
      label, version);
}

std::string update_tick(const ScheduleView& view, std::size_t worker, std::size_t at,
                        const Look& look) {
  const Op op = view.program.workers[worker][at].op;
  if (!updates(op)) return "";
  const double y = look.y(worker, row_of(view.timeline, op));
  return fmt::format(
      "<line class=\"update\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.2f}\" y2=\"{2:.2f}\"/>\n",
      left + view.timeline.spans[worker][at].end * look.scale, y - 2, y + look.box_height + 2);
}

std::string empty_row(const ScheduleView& view, std::size_t worker, int row, const Look& look) {
  const double y = look.y(worker, row);
  return fmt::format(
      "<text x=\"12\" y=\"{:.2f}\">{}</text>\n"
      "<rect x=\"{:g}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:g}\" fill=\"#f0f0f0\"/>\n",
      y + 16, row_name(view.program, view.timeline, worker, row), left, y,
      view.timeline.makespan * look.scale, look.box_height);
}

// Round steps of time, about ten of them.
std::string axis(const ScheduleView& view, double scale, double y) {
  const double end = view.timeline.makespan;
  auto text = fmt::format(
      "<line class=\"axis\" x1=\"{0:g}\" x2=\"{1:.2f}\" y1=\"{2:.2f}\" y2=\"{2:.2f}\"/>\n", left,
      left + end * scale, y);
  if (end <= 0) return text;
  double step = std::pow(10, std::floor(std::log10(end / 5)));
  while (end / step > 12) step *= step * 5 > end / 5 ? 2 : 5;
  for (int tick = 0; tick * step <= end * (1 + 1e-9); ++tick)
    text += fmt::format(
        "<line class=\"axis\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.2f}\" y2=\"{2:.2f}\"/>"
        "<text class=\"tick\" x=\"{0:.2f}\" y=\"{3:.2f}\">{4:g}</text>\n",
        left + tick * step * scale, y, y + 4, y + 16, tick * step);
  return text;
}

std::string legend(const ScheduleView& view, const Look& look, double y) {
  std::set<Op> used;
  for (std::size_t w = 0; w < view.program.workers.size(); ++w)
    for (const Cell& cell : cells_of(view.program, view.timeline, w)) used.insert(cell.op);
  double x = left;
  std::string text;
  for (const auto& kind : kinds) {
    if (!used.contains(kind.op)) continue;
    text += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"14\" height=\"14\" fill=\"{}\"/>"
        "<text x=\"{:.2f}\" y=\"{:.2f}\">{}</text>\n",
        x, y, kind.colours[0], x + 19, y + 11, kind.name);
    x += 40 + 7 * static_cast<double>(kind.name.size());
  }
  text += fmt::format(
      "<line class=\"update\" x1=\"{0:.2f}\" x2=\"{0:.2f}\" y1=\"{1:.2f}\" y2=\"{2:.2f}\"/>"
      "<text x=\"{3:.2f}\" y=\"{4:.2f}\">update</text>\n",
      x + 2, y - 1, y + 15, x + 9, y + 11);
  if (look.versions)
    text += fmt::format(
        "<text x=\"{:.2f}\" y=\"{:.2f}\">v: the stage's version of the weights</text>\n", x + 64,
        y + 11);
  return text;
}

constexpr std::string_view style =
    "<style>text{font:12px "
    "Helvetica,Arial,sans-serif;fill:#222}.number,.version{text-anchor:middle;fill:#fff}.version{"
    "font-size:9px}"
    ".tick{text-anchor:middle;font-size:11px}.title{font-weight:bold}rect{stroke:#fff;stroke-width:"
    "1}"
    ".axis{stroke:#222}.update{stroke:#c0262d;stroke-width:2.5}</style>\n";

}  // namespace

std::string format_svg(const ScheduleView& view) {
  const Look look = look_of(view);
  const double bottom = look.y(view.program.workers.size(), 0);
  const double width = std::max(left + view.timeline.makespan * look.scale + right, 620.0),
               height = bottom + 64;
  auto text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\">\n{2}"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
      "<text class=\"title\" x=\"{3:g}\" y=\"22\">{4}: makespan {5:g}, bubble {6:.1f}%</text>\n",
      width, height, style, left, xml_text(view.title), view.timeline.makespan,
      100 * view.timeline.bubble);
  for (std::size_t w = 0; w < view.program.workers.size(); ++w) {
    for (int row = 0; row < look.rows; ++row) text += empty_row(view, w, row, look);
    for (const Cell& cell : cells_of(view.program, view.timeline, w))
      text += box(view, w, cell, look);
    for (std::size_t at = 0; at < view.program.workers[w].size(); ++at)
      text += update_tick(view, w, at, look);  // over the boxes
  }
  text += axis(view, look.scale, bottom + 4);
  text += legend(view, look, bottom + 36);
  return text + "</svg>\n";
}

}  // namespace pipetrain
