// The figure for a paper or a page, light or dark as its reader prefers: a row per worker, and a
// box per compute instruction with its micro-batch, coloured by kind, lighter in every other
// mini-batch. A bar under a box marks a worker's later chunk or the other direction. There is a
// tick per update, a time axis and a legend. If forwards and backwards read other versions of the
// weights than the pipeline's last drain left, each box names its own. Several schedules are drawn
// one below the other, over one time axis.
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

constexpr double left = 80, title_height = 44, right = 20, between = 16;
constexpr double longest_picture = 20000;  // points of the time axis

struct Colouring {
  Op op;
  std::string_view colour;  // a class of `style`
  std::string_view name;
};
constexpr std::array<Colouring, 7> colourings{{
    {Op::Forward, "f", "forward"},
    {Op::Backward, "b", "backward"},
    {Op::BackwardInput, "b", "backward, input half"},
    {Op::BackwardHead, "b", "backward, up to its send"},
    {Op::BackwardTail, "w", "backward, after its send"},
    {Op::BackwardWeight, "w", "backward, weight half"},
    {Op::Recompute, "r", "recompute"},
}};

const Colouring& colouring_of(Op op) {
  return *std::find_if(colourings.begin(), colourings.end(),
                       [&](const Colouring& k) { return k.op == op; });
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

// v4, v4-1.5δ for weights set back along their motion, v2..4 for a mixture.
std::string version_text(const WeightRead& read) {
  if (const auto* back = std::get_if<Extrapolate>(&read.how))
    return fmt::format("v{}-{:.3g}δ", read.version.value, back->updates);
  if (const auto* blend = std::get_if<Blend>(&read.how))
    return fmt::format("v{}..{}", blend->other.value, read.version.value);
  return fmt::format("v{}", read.version.value);
}

// What the bar under a box means; empty if the program needs no bars.
std::string_view name_of_bars(const Program& program) {
  if (program.stages > std::ssize(program.workers)) return "stage of a later chunk";
  if (program.stages == std::ssize(program.workers) && program.has_copies())
    return "second pipeline, the other direction";
  return "";
}

// Is it on a later chunk of its worker, or in a copy of the other direction?
bool has_bar(const Program& program, const Instruction& i) {
  if (name_of_bars(program).empty()) return false;
  return i.stage.value >= std::ssize(program.workers) ||
         (program.has_copies() && program.copy_of(i.stage, i.microbatch) > 0);
}

std::string label_of(const Program& program, const Cell& cell) {
  return program.placement.empty() ? cell.number : cell_text(program, cell);
}

struct Look {
  bool versions = false, bars = false;
  double scale = 1;  // points per unit of time
  double box_height = 24, row_height = 30;
  int rows = 1;               // per worker
  double top = title_height;  // of the first row

  double y(std::size_t worker, int row) const {
    return top + row_height * static_cast<double>(worker * static_cast<std::size_t>(rows) +
                                                  static_cast<std::size_t>(row));
  }
};

// The width in points of the widest text in a box.
double room_of(const ScheduleView& view, bool versions) {
  std::size_t number = 0, version = 0;
  for (std::size_t w = 0; w < view.program.workers.size(); ++w)
    for (const Cell& cell : cells_of(view.program, view.timeline, w)) {
      number = std::max(number, label_of(view.program, cell).size());
      if (versions && reads_weights(cell.instruction->op))
        version = std::max(version, version_text(cell.instruction->weights).size());
    }
  constexpr double shortest = 26, of_digit = 8, of_small_digit = 5, margin = 6;
  return std::max({shortest, margin + of_digit * static_cast<double>(number),
                   margin + of_small_digit * static_cast<double>(version)});
}

// Points per unit of time: the shortest box has room for its text, and the picture can be drawn.
double scale_of(const ScheduleView& view, double room) {
  double shortest = view.timeline.makespan;
  for (std::size_t w = 0; w < view.program.workers.size(); ++w)
    for (const Cell& cell : cells_of(view.program, view.timeline, w))
      if (cell.span.end > cell.span.start)
        shortest = std::min(shortest, cell.span.end - cell.span.start);
  if (!(shortest > 0)) return 1;
  return std::min(room / shortest, longest_picture / view.timeline.makespan);
}

Look look_of(const ScheduleView& view) {
  Look look;
  look.rows = rows_per_worker(view.timeline);
  look.versions = shows_versions(view.program);
  look.bars = !name_of_bars(view.program).empty();
  if (look.versions) look.box_height = 34, look.row_height = 40;
  look.scale = scale_of(view, room_of(view, look.versions));
  return look;
}

// All on one scale, each below the one before.
std::vector<Look> looks_of(std::span<const ScheduleView> views) {
  std::vector<Look> looks;
  double scale = 0, longest = 0;
  for (const ScheduleView& view : views) {
    looks.push_back(look_of(view));
    scale = std::max(scale, looks.back().scale);
    longest = std::max(longest, view.timeline.makespan);
  }
  if (longest > 0) scale = std::min(scale, longest_picture / longest);
  double top = title_height;
  for (std::size_t v = 0; v < views.size(); ++v) {
    looks[v].scale = scale;
    looks[v].top = top;
    top = looks[v].y(views[v].program.workers.size(), 0) + between + title_height;
  }
  return looks;
}

// Rounded to a hundredth of a point.
std::string points(double value) { return fmt::format("{:.10g}", std::round(value * 100) / 100); }

std::string rect(std::string_view colour, double x, double y, double width, double height) {
  return fmt::format(R"(<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>)", colour,
                     points(x), points(y), points(width), points(height));
}

std::string words(std::string_view kind, double x, double y, std::string_view text) {
  return fmt::format(R"(<text class="{}" x="{}" y="{}">{}</text>)", kind, points(x), points(y),
                     text);
}

std::string line(std::string_view kind, double x1, double y1, double x2, double y2) {
  return fmt::format(R"(<line class="{}" x1="{}" x2="{}" y1="{}" y2="{}"/>)", kind, points(x1),
                     points(x2), points(y1), points(y2));
}

std::string box(const ScheduleView& view, std::size_t worker, const Cell& cell, const Look& look) {
  const Instruction& i = *cell.instruction;
  const double x = left + cell.span.start * look.scale,
               y = look.y(worker, row_of(view.timeline, i.op));
  const double width = (cell.span.end - cell.span.start) * look.scale;
  if (width <= 0) return "";
  const bool odd = view.program.minibatch_of(i.microbatch).value % 2 == 1;
  auto text = fmt::format("<g{}><title>{}: {:g} to {:g}</title>", odd ? " class=\"odd\"" : "",
                          to_text(i), cell.span.start, cell.span.end);
  text += rect(colouring_of(cell.op).colour, x, y, width, look.box_height);
  if (has_bar(view.program, i)) text += rect("bar", x, y + look.box_height - 4, width, 4);
  text += words("number", x + width / 2, y + 16, label_of(view.program, cell));
  if (look.versions && reads_weights(i.op))
    text += words("version", x + width / 2, y + 28, version_text(i.weights));
  return text + "</g>\n";
}

std::string update_tick(const ScheduleView& view, std::size_t worker, std::size_t at,
                        const Look& look) {
  const Op op = view.program.workers[worker][at].op;
  if (!updates(op)) return "";
  const double x = left + view.timeline.spans[worker][at].end * look.scale,
               y = look.y(worker, row_of(view.timeline, op));
  return line("update", x, y - 2, x, y + look.box_height + 2) + "\n";
}

std::string empty_row(const ScheduleView& view, std::size_t worker, int row, const Look& look) {
  const double y = look.y(worker, row);
  return words("row", 12, y + 16, row_name(view.program, view.timeline, worker, row)) +
         rect("idle", left, y, view.timeline.makespan * look.scale, look.box_height) + "\n";
}

// An axis with about ten ticks, at round times.
std::string axis(double end, double scale, double y) {
  auto text = line("axis", left, y, left + end * scale, y) + "\n";
  if (end <= 0) return text;
  double step = std::pow(10, std::floor(std::log10(end / 5)));
  while (end / step > 12) step *= step * 5 > end / 5 ? 2 : 5;
  for (int tick = 0; tick * step <= end * (1 + 1e-9); ++tick) {
    const double x = left + tick * step * scale;
    text += line("axis", x, y, x, y + 4) +
            words("tick", x, y + 16, fmt::format("{:g}", tick * step)) + "\n";
  }
  return text;
}

// Rows of the legend: swatches with their texts, and how far to the right these reach.
class Legend {
 public:
  explicit Legend(double y) : y_(y) {}

  void add(std::string_view swatch, std::string_view name) {
    text_ += rect(swatch, x_, y_, 14, 14);
    add_name(19, name);
  }
  void add_bar(std::string_view name) {
    text_ += rect("idle", x_, y_, 14, 14) + rect("bar", x_, y_ + 10, 14, 4);
    add_name(19, name);
  }
  void add_tick(std::string_view name) {
    text_ += line("update", x_ + 2, y_ - 1, x_ + 2, y_ + 15);
    add_name(9, name);
  }
  void add_name(double indent, std::string_view name) {
    text_ += words("name", x_ + indent, y_ + 11, name) + "\n";
    x_ += indent + 21 + 7 * static_cast<double>(name.size());
  }

  const std::string& text() const { return text_; }
  double end() const { return x_; }

 private:
  double x_ = left, y_;
  std::string text_;
};

Legend legend_of(std::span<const ScheduleView> views, std::span<const Look> looks, double y) {
  std::set<Op> used;
  std::set<std::string_view> bars;
  bool several = false, versions = false;
  for (std::size_t v = 0; v < views.size(); ++v) {
    const Program& program = views[v].program;
    for (std::size_t w = 0; w < program.workers.size(); ++w)
      for (const Cell& cell : cells_of(program, views[v].timeline, w)) used.insert(cell.op);
    if (looks[v].bars) bars.insert(name_of_bars(program));
    several |= program.minibatches > 1;
    versions |= looks[v].versions;
  }
  Legend legend(y);
  for (const auto& kind : colourings)
    if (used.contains(kind.op)) legend.add(kind.colour, kind.name);
  for (const std::string_view name : bars) legend.add_bar(name);
  legend.add_tick("update");
  if (several) legend.add_name(0, "lighter: every other mini-batch");
  if (versions) legend.add_name(0, "v: the stage's version of the weights");
  return legend;
}

std::string rows_of(const ScheduleView& view, const Look& look) {
  std::string text = words("title", left, look.top - 22,
                           fmt::format("{}: makespan {:g}, bubble {:.1f}%", xml_text(view.title),
                                       view.timeline.makespan, 100 * view.timeline.bubble)) +
                     "\n";
  for (std::size_t w = 0; w < view.program.workers.size(); ++w) {
    for (int row = 0; row < look.rows; ++row) text += empty_row(view, w, row, look);
    for (const Cell& cell : cells_of(view.program, view.timeline, w))
      text += box(view, w, cell, look);
    for (std::size_t at = 0; at < view.program.workers[w].size(); ++at)
      text += update_tick(view, w, at, look);  // drawn over the boxes
  }
  return text;
}

constexpr std::string_view style =
    "<style>text{font:12px Helvetica,Arial,sans-serif;fill:#1f2328}.number,.version{text-anchor:"
    "middle;fill:#fff}.version{font-size:9px}.odd text{fill:#1f2328}.tick{text-anchor:middle;"
    "font-size:11px}.title{font-weight:bold}rect{stroke:#fff}.ground,.bar{stroke:none}"
    ".ground{fill:#fff}.idle{fill:#eef0f2}.axis{stroke:#1f2328}.update{stroke:#cf222e;"
    "stroke-width:2.5}.bar{fill:#000;fill-opacity:.5}"
    ".f{fill:#3f6fa3}.b{fill:#b85c12}.w{fill:#3a8240}.r{fill:#6e7781}"
    ".odd .f{fill:#a9c6e4}.odd .b{fill:#f3c08a}.odd .w{fill:#a6d7a4}.odd .r{fill:#c6ccd2}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.odd text{fill:#0d1117}"
    "rect{stroke:#0d1117}.ground{fill:#0d1117}.idle{fill:#1e242c}.axis{stroke:#9aa4b0}"
    ".update{stroke:#ff7b72}.bar{fill:#fff;fill-opacity:.75}.odd .bar{fill:#000;fill-opacity:.5}}"
    "</style>\n";

}  // namespace

std::string format_svg(std::span<const ScheduleView> views) {
  const std::vector<Look> looks = looks_of(views);
  const double bottom = looks.back().y(views.back().program.workers.size(), 0);
  const Legend legend = legend_of(views, looks, bottom + 36);
  double end = 0;
  for (const ScheduleView& view : views) end = std::max(end, view.timeline.makespan);
  const double width = std::max(left + end * looks[0].scale + right, legend.end()),
               height = bottom + 64;
  auto text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 "
      "0 {0:.0f} {1:.0f}\">\n{2}",
      width, height, style);
  text += "<rect class=\"ground\" width=\"100%\" height=\"100%\"/>\n";
  for (std::size_t v = 0; v < views.size(); ++v) text += rows_of(views[v], looks[v]);
  return text + axis(end, looks[0].scale, bottom + 4) + legend.text() + "</svg>\n";
}

}  // namespace pipetrain
