#include "program/passes.hpp"

#include <map>

namespace pipetrain {
namespace {

// Replaces each instruction by what `expand(worker, instruction, out)` appends for it.
template <class Expand>
Program rewrite(Program program, Expand expand) {
  for (std::size_t w = 0; w < program.workers.size(); ++w) {
    std::vector<Instruction> out;
    for (const auto& instruction : program.workers[w])
      expand(WorkerId{static_cast<int>(w)}, instruction, out);
    program.workers[w] = std::move(out);
  }
  return program;
}

// Updates of the copies on this worker that have none of the last update's mini-batches.
void append_idle_updates(const ProgramShape& order, WorkerId worker,
                         std::vector<Instruction>& out) {
  for (StageId s{0}; order.whole_minibatches && s.value < order.stages; ++s.value) {
    const int copy = order.copy_on(worker, s);
    if (copy < order.copies_of(s) && order.is_idle(s, copy, order.updates_of(s) - 1))
      out.push_back({Op::Update, s, order.name_of_update(s, order.updates_of(s) - 1), {}});
  }
}

// Replaces pairs of neighbours in a worker's list: `match(first, second)` returns what replaces
// both, or none.
template <class Match>
Program replace_pairs(Program program, Match match) {
  for (auto& list : program.workers) {
    std::vector<Instruction> out;
    for (std::size_t at = 0; at < list.size(); ++at) {
      const std::vector<Instruction> both =
          at + 1 < list.size() ? match(list[at], list[at + 1]) : std::vector<Instruction>{};
      if (both.empty()) {
        out.push_back(list[at]);
        continue;
      }
      out.insert(out.end(), both.begin(), both.end());
      ++at;
    }
    list = std::move(out);
  }
  return program;
}

// A backward, fused with the update that directly follows it.
Op fused(Op backward) {
  switch (backward) {
    case Op::Backward:
      return Op::BackwardUpdate;
    case Op::BackwardTail:
      return Op::BackwardTailUpdate;
    case Op::BackwardWeight:
      return Op::BackwardWeightUpdate;
    default:
      return backward;
  }
}

}  // namespace

Program add_updates(Program program) {
  const ProgramShape order = program;
  std::map<std::pair<StageId, MinibatchId>, int> done;
  WorkerId at{-1};
  program = rewrite(std::move(program), [&](WorkerId worker, const Instruction& i, auto& out) {
    if (worker != at) done.clear();
    at = worker;
    out.push_back(i);
    if (!gives_weight_gradient(i.op)) return;
    const auto k = order.minibatch_of(i.microbatch);
    if (++done[{i.stage, k}] == order.share_of(i.stage, order.copy_on(worker, i.stage), k))
      out.push_back(
          {Op::Update, i.stage, order.name_of_update(i.stage, order.update_for(i.stage, k)), {}});
  });
  for (WorkerId w{0}; w.value < std::ssize(program.workers); ++w.value)
    append_idle_updates(order, w, program.workers[w]);
  return program;
}

Program add_recomputes(Program program, RecomputeBy weights) {
  std::map<std::pair<StageId, MicrobatchId>, WeightRead> forward;
  return rewrite(std::move(program), [&](WorkerId, const Instruction& i, auto& out) {
    if (i.op == Op::Forward) forward[{i.stage, i.microbatch}] = i.weights;
    if (gives_input_gradient(i.op))
      out.push_back(
          {Op::Recompute, i.stage, i.microbatch,
           weights == RecomputeBy::Forward ? forward.at({i.stage, i.microbatch}) : i.weights});
    out.push_back(i);
  });
}

namespace {

bool reads_alone(const WeightRead& weights, Version version) {
  return std::holds_alternative<AsStored>(weights.how) && weights.version == version;
}

bool reads_in_a_blend(const WeightRead& weights, Version version) {
  const auto* blend = std::get_if<Blend>(&weights.how);
  return blend && blend->other == version;
}

// Does this hold for what every backward reads and the version that its forward read?
template <typename Holds>
bool of_every_backward(const Program& program, Holds holds) {
  for (const auto& list : program.workers) {
    std::map<std::pair<StageId, MicrobatchId>, Version> forward;
    for (const Instruction& i : list) {
      if (i.op == Op::Forward) forward[{i.stage, i.microbatch}] = i.weights.version;
      if (gives_input_gradient(i.op) && !holds(i.weights, forward[{i.stage, i.microbatch}]))
        return false;
    }
  }
  return true;
}

}  // namespace

bool keeps_forward_versions(const Program& program) {
  return of_every_backward(program, [](const WeightRead& weights, Version version) {
    return reads_alone(weights, version) || reads_in_a_blend(weights, version);
  });
}

bool rereads_forward_versions(const Program& program) {
  return of_every_backward(program, reads_alone);
}

Program add_loads(Program program) {
  return rewrite(std::move(program), [](WorkerId, const Instruction& i, auto& out) {
    if (i.op == Op::Forward && i.stage.value == 0)
      out.push_back({Op::LoadInput, i.stage, i.microbatch, {}});
    out.push_back(i);
  });
}

Program add_gradient_sync(Program program, const std::set<StageId>& stages) {
  std::map<std::pair<WorkerId, MicrobatchId>, int> updates_left;
  for (std::size_t w = 0; w < program.workers.size(); ++w)
    for (const auto& i : program.workers[w])
      if (i.op == Op::Update) ++updates_left[{WorkerId{static_cast<int>(w)}, i.microbatch}];

  std::map<std::pair<WorkerId, MicrobatchId>, std::vector<Instruction>> waiting;
  return rewrite(std::move(program), [&](WorkerId worker, const Instruction& i, auto& out) {
    if (i.op != Op::Update) return out.push_back(i);
    const std::pair key{worker, i.microbatch};
    if (stages.contains(i.stage)) {
      out.push_back({Op::SyncGradients, i.stage, i.microbatch, {}});
      waiting[key].push_back(i);
    } else {
      out.push_back(i);
    }
    if (--updates_left[key] == 0) out.insert(out.end(), waiting[key].begin(), waiting[key].end());
  });
}

Program add_gradient_sync(Program program) {
  std::set<StageId> all;
  for (StageId s{0}; s.value < program.stages; ++s.value) all.insert(s);
  return add_gradient_sync(std::move(program), all);
}

Program add_transfers(Program program) {
  const ProgramShape order = program;
  return rewrite(std::move(program), [&](WorkerId, const Instruction& i, auto& out) {
    const bool first_stage = i.stage.value == 0, last_stage = i.stage.value == order.stages - 1;
    const bool f = i.op == Op::Forward, b = gives_input_gradient(i.op);
    const bool together = b && order.gradients_together;
    const bool begins = !together || i.microbatch.value % order.microbatches == 0,
               ends = !together || order.ends_minibatch(i.microbatch);
    const auto transfer = [&](Op op) {
      const auto named =
          together ? order.last_microbatch_of(order.minibatch_of(i.microbatch)) : i.microbatch;
      out.push_back({op, i.stage, named, {}});
    };
    if (f && !first_stage) transfer(Op::ReceiveActivation);
    if (b && !last_stage && begins) transfer(Op::ReceiveGradient);
    out.push_back(i);
    if (f && !last_stage) transfer(Op::SendActivation);
    if (b && !first_stage && ends) transfer(Op::SendGradient);
  });
}

Program send_gradients_early(Program program) {
  return replace_pairs(
      std::move(program),
      [](const Instruction& backward, const Instruction& send) -> std::vector<Instruction> {
        if (backward.op != Op::Backward || send.op != Op::SendGradient ||
            backward.stage != send.stage || backward.microbatch != send.microbatch)
          return {};
        return {{Op::BackwardHead, backward.stage, backward.microbatch, backward.weights},
                send,
                {Op::BackwardTail, backward.stage, backward.microbatch, {}}};
      });
}

Program fuse_updates(Program program) {
  const auto minibatch_of = [microbatches = program.microbatches](const Instruction& i) {
    return i.microbatch.value / microbatches;
  };
  return replace_pairs(
      std::move(program),
      [&](const Instruction& backward, const Instruction& update) -> std::vector<Instruction> {
        if (update.op != Op::Update || backward.stage != update.stage ||
            fused(backward.op) == backward.op || minibatch_of(backward) != minibatch_of(update))
          return {};
        return {{fused(backward.op), backward.stage, backward.microbatch, backward.weights}};
      });
}

}  // namespace pipetrain
