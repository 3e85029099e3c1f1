#include "versions/bind.hpp"

#include <map>

#include "base/check.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

using Key = std::pair<StageId, MicrobatchId>;

// What has happened so far in the walk.
struct Walk {
  const VersionPolicy& policy;
  int stages, microbatches;
  std::map<std::pair<WorkerId, StageId>, Version> newest = {};
  std::map<MicrobatchId, Version> entry = {};
  std::map<Key, Version> at_forward = {};
  std::map<Key, WeightRead> forward_read = {}, backward_read = {};

  bool ready(const Instruction& i) const {
    if (i.op == Op::Forward)
      return i.stage.value == 0 || forward_read.contains({{i.stage.value - 1}, i.microbatch});
    if (gives_input_gradient(i.op))
      return forward_read.contains({i.stage, i.microbatch}) &&
             (i.stage.value == stages - 1 ||
              backward_read.contains({{i.stage.value + 1}, i.microbatch}));
    return true;
  }

  void bind(WorkerId worker, Instruction& i) {
    const Key key{i.stage, i.microbatch};
    Version& live = newest[{worker, i.stage}];
    if (i.op == Op::Forward) {
      if (i.stage.value == 0) entry[i.microbatch] = live;
      at_forward[key] = live;
      i.weights = forward_read[key] = policy.forward(context(i, {}));
    } else if (gives_input_gradient(i.op)) {
      i.weights = backward_read[key] = policy.backward(context(i, live), forward_read.at(key));
    } else if (i.op == Op::Update) {
      live.value += 1;
      i.weights = {live, AsStored{}};
    }
  }

  ReadContext context(const Instruction& i, Version at_backward) const {
    return {.stage = i.stage,
            .stages = stages,
            .microbatch = i.microbatch,
            .microbatches = microbatches,
            .at_entry = entry.at(i.microbatch),
            .at_forward = at_forward.at({i.stage, i.microbatch}),
            .at_backward = at_backward};
  }
};

}  // namespace

Program bind_versions(Program program, const VersionPolicy& policy) {
  Walk walk{policy, program.stages, program.microbatches};
  std::vector<std::size_t> at(program.workers.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t w = 0; w < at.size(); ++w) {
      auto& list = program.workers[w];
      if (at[w] == list.size() || !walk.ready(list[at[w]])) continue;
      walk.bind({static_cast<int>(w)}, list[at[w]++]);
      moved = true;
    }
  }
  for (std::size_t w = 0; w < at.size(); ++w)
    PIPETRAIN_CHECK(at[w] == program.workers[w].size(), "the order never gets to {} on worker {}",
                    short_text(program.workers[w][at[w]]), w);
  return program;
}

}  // namespace pipetrain
