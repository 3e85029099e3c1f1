// What `pipetrain schedule` prints: one function and one file per --format.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/simulate.hpp"

namespace pipetrain {

struct ScheduleView {
  std::string schedule;  // its name
  std::string title;     // "1f1b, 4 stages, 8 micro-batches"
  const Program& program;
  const Timeline& timeline;
  bool colour = false;  // in format_text, for a terminal
};

std::string format_text(const ScheduleView& view);      // the papers' figure, and the numbers
std::string format_versions(const ScheduleView& view);  // who reads which version, how stale
std::string format_csv(const ScheduleView& view);       // one row per instruction
std::string format_svg(
    std::span<const ScheduleView> views);            // the figure for a paper; at least one
std::string format_trace(const ScheduleView& view);  // Chrome trace JSON, opens in Perfetto

// For other programs to read: one JSON document, written as it is made. The lists of `workers` are
// requested one by one; without workers it has the numbers only.
struct JsonView {
  std::string_view schedule;
  int minibatches = 1;
  const Summary& numbers;
  std::size_t workers = 0;
  std::function<std::vector<Instruction>(WorkerId)> list = {};
};
void write_json(const JsonView& view, std::ostream& out);  // without a final newline

// A simulated time for people: six digits, and no fewer than its whole part has. What is too small
// beside `whole` to be more than rounding is 0.
std::string time_text(double time, double whole);

// The figure alone: a line per row, a column per unit of time. UsageError if times differ so much
// that nearly all of it would be dashes. A compute instruction begins with
// its letter and micro-batch and continues with dashes; | after it is an update; . is idle time.
// Colours show the kinds of instruction, as in the figure for a paper.
std::string draw(const Program& program, const Timeline& timeline, bool colour = false);

// What a figure shows as one box: a compute instruction, or a mini-batch's backwards together.
struct Cell {
  const Instruction* instruction = nullptr;  // the first one
  Op op = Op::Forward;  // as shown: a head whose tail takes no time is a backward
  Span span;
  std::string number;  // of the micro-batch, or of the mini-batch if its backwards go together
};
std::vector<Cell> cells_of(const Program& program, const Timeline& timeline, std::size_t worker);

// Rows of a figure per worker: one, or two if forwards and backwards share the worker.
int rows_per_worker(const Timeline& timeline);
int row_of(const Timeline& timeline, Op op);
// A name for each row: "stage 2" if each worker holds one stage, otherwise "worker 2"; followed by
// F or B if a worker has two rows.
std::string row_name(const Program& program, const Timeline& timeline, std::size_t worker, int row);
// The text of a cell: F3, or 2F3 if workers hold several stages.
std::string cell_text(const Program& program, const Cell& cell);

}  // namespace pipetrain
