// The table of versions. The staleness of a micro-batch on a stage: how many updates the stage
// makes between the weights that its forward reads and the newest ones when its backward begins.
#include <algorithm>
#include <map>

#include <spdlog/fmt/fmt.h>
#include "program/format.hpp"
#include "program/liveness.hpp"

namespace pipetrain {
namespace {

struct Reads {
  std::string forward, backward;
  int forward_version = 0, newest_at_backward = 0;
  int staleness() const { return newest_at_backward - forward_version; }
};
using Table = std::map<std::pair<MicrobatchId, StageId>, Reads>;

// As in the instruction's text, with four digits: 3, 4-1.5d, 4~2*0.25.
std::string weights_text(const Instruction& i) {
  const int version = i.weights.version.value;
  if (const auto* back = std::get_if<Extrapolate>(&i.weights.how))
    return fmt::format("{}-{:.4g}d", version, back->updates);
  if (const auto* blend = std::get_if<Blend>(&i.weights.how))
    return fmt::format("{}~{}*{:.4g}", version, blend->other.value, blend->other_share);
  return std::to_string(version);
}

Table read_table(const Program& program) {
  Table table;
  for (const auto& list : program.workers) {
    std::map<StageId, int> newest;
    for (const auto& i : list) {
      auto& reads = table[{i.microbatch, i.stage}];
      if (i.op == Op::Forward) {
        reads.forward = weights_text(i);
        reads.forward_version = i.weights.version.value;
      } else if (gives_input_gradient(i.op)) {
        reads.backward = weights_text(i);
        reads.newest_at_backward = newest[i.stage];
      }
      if (updates(i.op)) newest[i.stage] = program.version_made_by(i).value;
    }
  }
  return table;
}

using Cells = std::vector<std::vector<std::string>>;

std::string aligned(const Cells& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) line += fmt::format("{:<{}}  ", row[c], widths[c]);
    while (line.ends_with(' ')) line.pop_back();
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string format_versions(const ScheduleView& view) {
  const Program& program = view.program;
  auto table = read_table(program);
  Cells rows{{"mini", "micro"}};
  for (int s = 0; s < program.stages; ++s) rows[0].push_back(fmt::format("stage {}", s));
  std::vector<int> total(program.stages, 0), largest(program.stages, 0);
  for (int m = 0; m < program.total_microbatches(); ++m) {
    auto& row = rows.emplace_back();
    row = {std::to_string(program.minibatch_of({m}).value), std::to_string(m)};
    for (int s = 0; s < program.stages; ++s) {
      const Reads& reads = table[{{m}, {s}}];
      row.push_back(
          fmt::format("F@{} B@{} ({})", reads.forward, reads.backward, reads.staleness()));
      total[s] += reads.staleness();
      largest[s] = std::max(largest[s], reads.staleness());
    }
  }
  Cells summary{{"staleness, largest"}, {"staleness, mean"}, {"versions held"}};
  const auto held = peak_weight_versions(program);
  for (int s = 0; s < program.stages; ++s) {
    summary[0].push_back(std::to_string(largest[s]));
    summary[1].push_back(fmt::format("{:.4g}", double(total[s]) / program.total_microbatches()));
    summary[2].push_back(std::to_string(held[s]));
  }
  return fmt::format(
      "{}\nVersions that forward and backward read (in brackets: updates between the forward's "
      "weights and the newest at the backward).\n\n{}\n{}",
      view.title, aligned(rows), aligned(summary));
}

}  // namespace pipetrain
