#include "program/versions_kept.hpp"

#include <algorithm>
#include <variant>

namespace pipetrain {
namespace {

int oldest_read(const WeightRead& read) {
  if (const auto* blend = std::get_if<Blend>(&read.how))
    return std::min(read.version.value, blend->other.value);
  return read.version.value;
}

// Counted from the end: from the oldest version still to be read to the newest one made so far.
int versions_kept_by(const std::vector<Instruction>& list, StageId stage) {
  int newest = 0;
  for (const Instruction& i : list) newest += i.stage == stage && updates(i.op);
  int oldest = newest, kept = 1;
  for (auto i = list.rbegin(); i != list.rend(); ++i) {
    if (i->stage != stage) continue;
    if (updates(i->op)) {
      --newest;
      oldest = std::min(oldest, newest);
    }
    if (reads_weights(i->op)) {
      oldest = std::min(oldest, oldest_read(i->weights));
      kept = std::max(kept, newest - oldest + 1);
    }
  }
  return kept;
}

}  // namespace

bool mixes_weights(const Program& program, StageId stage) {
  for (const auto& worker : program.workers)
    for (const Instruction& i : worker)
      if (i.stage == stage && !std::holds_alternative<AsStored>(i.weights.how)) return true;
  return false;
}

int versions_kept(const Program& program, StageId stage) {
  int kept = 1;
  for (const auto& worker : program.workers) kept = std::max(kept, versions_kept_by(worker, stage));
  return kept;
}

}  // namespace pipetrain
