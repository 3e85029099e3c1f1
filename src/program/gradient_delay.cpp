#include "program/gradient_delay.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace pipetrain {

Indexed<double, StageId> gradient_delays(const Program& program) {
  std::map<std::pair<StageId, MinibatchId>, double> sums;  // summed over micro-batches
  for (const auto& list : program.workers)
    for (const Instruction& i : list) {
      if (i.op != Op::Forward) continue;
      const MinibatchId minibatch = program.minibatch_of(i.microbatch);
      const int applied_to = program.update_for(i.stage, minibatch);
      sums[{i.stage, minibatch}] += applied_to - i.weights.version.value;
    }
  Indexed<double, StageId> delays(program.stages);
  for (const auto& [of, sum] : sums)
    delays[of.first] = std::max(delays[of.first], sum / program.microbatches);
  return delays;
}

}  // namespace pipetrain
