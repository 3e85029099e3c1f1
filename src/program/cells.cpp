// What all figures show alike: their boxes, the texts in them and the names of the rows.
#include <spdlog/fmt/fmt.h>

#include "program/format.hpp"
#include "program/text.hpp"

namespace pipetrain {

int rows_per_worker(const Timeline& timeline) {
  return timeline.charges == Charges::SideBySide ? 2 : 1;
}

int row_of(const Timeline& timeline, Op op) {
  return rows_per_worker(timeline) == 1 || op == Op::Forward ? 0 : 1;
}

std::string row_name(const Program& program, const Timeline& timeline, std::size_t worker,
                     int row) {
  const auto name = fmt::format("{} {}", program.placement.empty() ? "stage" : "worker", worker);
  return rows_per_worker(timeline) == 1 ? name : name + (row == 0 ? " F" : " B");
}

std::string cell_text(const Program& program, const Cell& cell) {
  const auto text = fmt::format("{}{}", letters(cell.op), cell.number);
  return program.placement.empty() ? text : std::to_string(cell.instruction->stage.value) + text;
}

std::vector<Cell> cells_of(const Program& program, const Timeline& timeline, std::size_t worker) {
  std::vector<Cell> cells;
  for (std::size_t at = 0; at < program.workers[worker].size(); ++at) {
    const Instruction& i = program.workers[worker][at];
    if (!computes(i.op)) continue;
    const Span& span = timeline.spans[worker][at];
    const bool together = program.gradients_together && is_backward(i.op);
    const MinibatchId minibatch = program.minibatch_of(i.microbatch);
    const bool tail = without_update(i.op) == Op::BackwardTail && span.end == span.start;
    if (!cells.empty() &&
        (tail || (together && is_backward(cells.back().instruction->op) &&
                  program.minibatch_of(cells.back().instruction->microbatch) == minibatch))) {
      cells.back().span.end = span.end;
      if (tail) cells.back().op = Op::Backward;
      continue;
    }
    cells.push_back({&i, without_update(i.op), span,
                     std::to_string(together ? minibatch.value : i.microbatch.value)});
  }
  return cells;
}

}  // namespace pipetrain
