#include "program/liveness.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace pipetrain {
namespace {

using List = std::vector<Instruction>;

// The most open forwards, without their `ends`, at any point of the list; of all stages or of one.
template <class Ends>
int peak_open(const List& list, Ends ends, const StageId* only = nullptr) {
  int open = 0, peak = 0;
  for (const auto& i : list) {
    if (only && i.stage != *only) continue;
    if (i.op == Op::Forward) peak = std::max(peak, ++open);
    if (ends(i.op)) --open;
  }
  return peak;
}

// Calls `visit(version)` for each version that the instruction reads.
template <class Visit>
void each_read(const Instruction& i, Visit visit) {
  if (!reads_weights(i.op)) return;
  visit(i.weights.version);
  if (auto* blend = std::get_if<Blend>(&i.weights.how)) visit(blend->other);
}

int peak_versions(const Program& program, const List& list, StageId stage) {
  std::map<Version, std::size_t> last_read;
  for (std::size_t at = 0; at < list.size(); ++at)
    if (list[at].stage == stage) each_read(list[at], [&](Version v) { last_read[v] = at; });

  Version newest{0};
  std::set<Version> held{newest};
  std::size_t peak = 1;
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at].stage != stage) continue;
    if (updates(list[at].op)) held.insert(newest = program.version_made_by(list[at]));
    std::erase_if(held, [&](Version v) {
      return v != newest && (!last_read.contains(v) || last_read[v] <= at);
    });
    peak = std::max(peak, held.size());
  }
  return static_cast<int>(peak);
}

// For each stage, the largest of `measure(list, stage)` over all workers.
template <class Measure>
std::vector<int> per_stage(const Program& program, Measure measure) {
  std::vector<int> peaks(program.stages, 0);
  for (int s = 0; s < program.stages; ++s)
    for (const auto& list : program.workers)
      peaks[s] = std::max(peaks[s], measure(list, StageId{s}));
  return peaks;
}

}  // namespace

std::vector<int> peak_activations(const Program& program) {
  return per_stage(program, [](const List& list, StageId stage) {
    return peak_open(list, gives_weight_gradient, &stage);
  });
}

std::vector<int> peak_inputs(const Program& program) {
  return per_stage(program, [](const List& list, StageId stage) {
    std::set<MicrobatchId> open;
    std::size_t peak = 0;
    for (const auto& i : list) {
      if (i.stage != stage) continue;
      if (i.op == Op::LoadInput || i.op == Op::ReceiveActivation || i.op == Op::Forward)
        open.insert(i.microbatch);
      peak = std::max(peak, open.size());
      if (gives_weight_gradient(i.op)) open.erase(i.microbatch);
    }
    return static_cast<int>(peak);
  });
}

std::vector<int> peak_slots(const Program& program) {
  if (!program.has(Op::Recompute)) return peak_inputs(program);
  return per_stage(program, [](const List& list, StageId stage) {
    int open = 0, peak = 0;
    for (const auto& i : list) {
      if (i.stage != stage) continue;
      if (i.op == Op::Forward) peak = std::max(peak, open + 1);
      if (i.op == Op::Recompute) peak = std::max(peak, ++open);
      if (gives_weight_gradient(i.op)) --open;
    }
    return peak;
  });
}

std::vector<int> peak_until_update(const Program& program) {
  return per_stage(program, [&](const List& list, StageId stage) {
    std::multiset<int> open;  // by update
    std::size_t peak = 0;
    const auto update_for = [&](const Instruction& i) {
      return program.update_for(stage, program.minibatch_of(i.microbatch));
    };
    for (const auto& i : list) {
      if (i.stage != stage) continue;
      if (i.op == Op::Forward) open.insert(update_for(i));
      peak = std::max(peak, open.size());
      if (updates(i.op)) open.erase(update_for(i));
    }
    return static_cast<int>(peak);
  });
}

std::vector<int> peak_weight_versions(const Program& program) {
  return per_stage(program, [&](const List& list, StageId stage) {
    return peak_versions(program, list, stage);
  });
}

std::vector<int> peak_in_flight(const Program& program) {
  std::vector<int> peaks;
  for (const auto& list : program.workers) peaks.push_back(peak_open(list, gives_input_gradient));
  return peaks;
}

std::vector<int> peak_weight_versions_of_workers(const Program& program) {
  std::vector<int> peaks;
  for (const auto& list : program.workers) {
    std::set<StageId> stages;
    for (const auto& i : list) stages.insert(i.stage);
    int& peak = peaks.emplace_back(0);
    for (auto stage : stages) peak = std::max(peak, peak_versions(program, list, stage));
  }
  return peaks;
}

}  // namespace pipetrain
