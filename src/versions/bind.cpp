#include "versions/bind.hpp"

#include <map>

#include "base/check.hpp"
#include "program/text.hpp"

namespace pipetrain {
namespace {

using Key = std::pair<StageId, MicrobatchId>;
using List = std::vector<Instruction>;

// What has happened so far in the walk.
struct Walk {
  const Program& program;
  const VersionPolicy& policy;
  const BindRule& rule;
  std::map<std::pair<WorkerId, StageId>, Version> newest = {};
  std::map<MicrobatchId, Version> entry = {}, turn = {};
  std::map<Key, Version> at_forward = {};
  std::map<Key, WeightRead> forward_read = {}, backward_read = {};

  StageId last() const { return {program.stages - 1}; }

  bool ready(const Instruction& i) const {
    if (i.op == Op::Forward)
      return i.stage.value == 0 || forward_read.contains({{i.stage.value - 1}, i.microbatch});
    if (gives_input_gradient(i.op))
      return forward_read.contains({i.stage, i.microbatch}) &&
             (i.stage == last() || backward_read.contains({{i.stage.value + 1}, i.microbatch}));
    return true;
  }

  void bind(WorkerId worker, Instruction& i, Version stage_0) {
    const Key key{i.stage, i.microbatch};
    Version& live = newest[{worker, i.stage}];
    if (i.op == Op::Forward) {
      if (i.stage.value == 0) entry[i.microbatch] = live;
      at_forward[key] = live;
      i.weights = forward_read[key] = policy.forward(context(i, {}));
    } else if (gives_input_gradient(i.op)) {
      if (i.stage == last()) turn[i.microbatch] = stage_0;
      i.weights = backward_read[key] = policy.backward(context(i, live), forward_read.at(key));
    } else if (i.op == Op::Update) {
      live.value += 1;
      i.weights = {live, AsStored{}};
    }
  }

  ReadContext context(const Instruction& i, Version at_backward) const {
    const auto turned = turn.find(i.microbatch);
    return {.microbatch = i.microbatch,
            .microbatches = program.microbatches,
            .at_entry = entry.at(i.microbatch),
            .at_forward = at_forward.at({i.stage, i.microbatch}),
            .at_backward = at_backward,
            .at_turn = turned == turn.end() ? Version{0} : turned->second,
            .delay = rule.delays.empty() ? 0 : rule.delays[i.stage],
            .mix = rule.mix};
  }
};

// How many instructions, starting at `at`, take one slot together.
std::size_t slot_length(const Program& program, const List& list, std::size_t at) {
  const Instruction& first = list[at];
  std::size_t end = at + 1;
  const auto goes_on = [&](const Instruction& i) {
    if (i.stage != first.stage) return false;
    if (i.op == Op::Update || i.op == Op::BackwardWeight) return true;
    return program.gradients_together && is_backward(first.op) && i.op == first.op &&
           program.minibatch_of(i.microbatch) == program.minibatch_of(first.microbatch);
  };
  while (end < list.size() && goes_on(list[end])) ++end;
  return end - at;
}

}  // namespace

Program bind_versions(Program program, const VersionPolicy& policy, const BindRule& rule) {
  const Program order = program;
  Walk walk{order, policy, rule};
  std::vector<std::size_t> at(program.workers.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    std::vector<std::size_t> slot(at.size(), 0);  // how many instructions each worker does now
    for (std::size_t w = 0; w < at.size(); ++w)
      if (at[w] < order.workers[w].size() && walk.ready(order.workers[w][at[w]]))
        slot[w] = slot_length(order, order.workers[w], at[w]);
    const Version stage_0 = walk.newest[{order.worker_of({0}, {0}), StageId{0}}];
    for (std::size_t w = 0; w < at.size(); ++w)
      for (; slot[w] > 0; --slot[w]) {
        walk.bind({static_cast<int>(w)}, program.workers[w][at[w]++], stage_0);
        moved = true;
      }
  }
  for (std::size_t w = 0; w < at.size(); ++w)
    PIPETRAIN_CHECK(at[w] == program.workers[w].size(), "the order never gets to {} on worker {}",
                    short_text(program.workers[w][at[w]]), w);
  return program;
}

}  // namespace pipetrain
