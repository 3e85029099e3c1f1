// The smallest trainer that can tell schedules apart: stage s is y = w_s x with a scalar weight,
// the loss of a micro-batch is (y - target)^2 / (2 N), the optimizer is plain SGD. It runs a
// program as the real runtime does: bounded channels, stores that hold no more versions than
// liveness says. The copies of a stage, and stages of one weight, hand in their gradients at
// SyncGradients, and each updates by the sum; copies that take whole mini-batches by the mean of
// those of their update, at r_s / r_0 of the rate (1F1B-RR).
#pragma once

#include <deque>
#include <map>
#include <vector>

#include "base/check.hpp"
#include "program/channel.hpp"
#include "program/liveness.hpp"
#include "program/text.hpp"

namespace pipetrain::test {

struct ScalarTask {
  std::vector<double> weights;          // of each stage, at version 0
  std::vector<double> inputs, targets;  // of each micro-batch
  double lr = 0.05;
  std::vector<int> tied = {};  // of each stage: the stage whose weight it uses; empty: its own

  bool same_weight(int stage, int other) const {
    return stage == other || (!tied.empty() && tied[static_cast<std::size_t>(stage)] ==
                                                   tied[static_cast<std::size_t>(other)]);
  }
};

using History = std::vector<std::vector<double>>;  // [stage][version]

class ScalarTrainer {
 public:
  ScalarTrainer(const Program& program, const ScalarTask& task)
      : program_(program), task_(task), stages_(program.workers.size()) {
    const auto held = peak_weight_versions(program);
    const auto open = peak_activations(program);
    for (double weight : task.weights) history_.push_back({weight});
    for (std::size_t w = 0; w < program.workers.size(); ++w)
      for (const auto& i : program.workers[w]) {
        Stage& stage = stages_[w][i.stage];
        stage.slots = static_cast<std::size_t>(held[i.stage.value]);
        stage.room = static_cast<std::size_t>(open[i.stage.value]);
        stage.held = {{Version{0}, task.weights[i.stage.value]}};
        if (reads_weights(i.op)) ++stage.readers[i.weights.version];
        if (i.op == Op::SyncGradients) ++sums_of(i).missing;
      }
  }

  History run() {
    std::vector<std::size_t> at(program_.workers.size(), 0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t w = 0; w < at.size(); ++w)
        if (at[w] < program_.workers[w].size() && step(w, program_.workers[w][at[w]]))
          ++at[w], moved = true;
    }
    for (std::size_t w = 0; w < at.size(); ++w)
      PIPETRAIN_CHECK(at[w] == program_.workers[w].size(), "worker {} is stuck", w);
    return history_;
  }

 private:
  struct Stage {
    std::size_t slots = 1, room = 1;
    std::map<Version, double> held;
    std::map<Version, int> readers;  // reads still to come
    Version newest;
    std::map<MicrobatchId, double> input, output, output_gradient, input_gradient;
    std::map<MicrobatchId, double> saved;  // from forward to the weight half of backward
    double gradient = 0;
  };

  using Worker = std::map<StageId, Stage>;

  // For one update: the gradients handed in, per stage and copy, and how many are still to come.
  struct Sums {
    int missing = 0;
    std::map<std::pair<StageId, int>, double> gradient;

    bool concerns(StageId stage) const {
      const auto first = gradient.lower_bound({stage, 0});
      return first != gradient.end() && first->first.first == stage;
    }
  };
  Sums& sums_of(const Instruction& i) {
    return sums_[{program_.sync_group_of(i.stage), i.microbatch}];
  }

  bool step(std::size_t w, const Instruction& i) {
    Worker& worker = stages_[w];
    Stage& stage = worker.at(i.stage);
    const auto m = i.microbatch;
    if (fuses_update(i.op))  // the same as one after the other
      return step(w, {without_update(i.op), i.stage, m, i.weights}) &&
             update(stage, {Op::Update,
                            i.stage,
                            program_.last_microbatch_of(program_.minibatch_of(m)),
                            {program_.version_made_by(i), AsStored{}}});
    switch (i.op) {
      case Op::LoadInput:
        stage.input[m] = task_.inputs[m.value];
        break;
      case Op::Forward:
        forward(stage, i);
        break;
      case Op::Backward:
        backward_input(stage, i), backward_weight(stage, m);
        break;
      case Op::BackwardInput:
      case Op::BackwardHead:
        backward_input(stage, i);
        break;
      case Op::BackwardWeight:
      case Op::BackwardTail:
        backward_weight(stage, m);
        break;
      case Op::SendActivation:
        return send(i, stage.output);
      case Op::SendGradient:
        return send(i, stage.input_gradient);
      case Op::ReceiveActivation:
        return receive(i, stage.input);
      case Op::ReceiveGradient:
        return receive(i, stage.output_gradient);
      case Op::SyncGradients:
        hand_in(stage, i, program_.copy_on({static_cast<int>(w)}, i.stage));
        break;
      case Op::Update:
        return update(stage, i);
      default:
        break;
    }
    return true;
  }

  double read(Stage& stage, const Instruction& i) {
    const Version v = i.weights.version;
    PIPETRAIN_CHECK(stage.held.contains(v), "{} reads what is gone", to_text(i));
    const double weight = stage.held[v];
    --stage.readers[v];
    drop(stage);
    return weight;
  }

  void drop(Stage& stage) {
    std::erase_if(stage.held, [&](const auto& entry) {
      return entry.first != stage.newest && stage.readers[entry.first] == 0;
    });
    PIPETRAIN_CHECK(stage.held.size() <= stage.slots, "more versions than liveness says");
  }

  void forward(Stage& stage, const Instruction& i) {
    const auto m = i.microbatch;
    stage.saved[m] = stage.input.at(m);
    PIPETRAIN_CHECK(stage.saved.size() <= stage.room, "more activations than liveness says");
    stage.output[m] = stage.input.at(m) * read(stage, i);
    stage.input.erase(m);
    if (i.stage.value == program_.stages - 1)
      stage.output_gradient[m] =
          (stage.output.at(m) - task_.targets[m.value]) / program_.microbatches;
  }

  void backward_input(Stage& stage, const Instruction& i) {
    stage.input_gradient[i.microbatch] = stage.output_gradient.at(i.microbatch) * read(stage, i);
  }
  void backward_weight(Stage& stage, MicrobatchId m) {
    stage.gradient += stage.output_gradient.at(m) * stage.saved.at(m);
    stage.saved.erase(m);
    stage.output_gradient.erase(m);
  }

  // The micro-batches that a packet is for.
  std::vector<MicrobatchId> carried_by(const Instruction& i) const {
    const bool gradient = i.op == Op::SendGradient || i.op == Op::ReceiveGradient;
    if (!gradient || !program_.gradients_together) return {i.microbatch};
    std::vector<MicrobatchId> all;
    const int first = program_.minibatch_of(i.microbatch).value * program_.microbatches;
    for (int j = 0; j < program_.microbatches; ++j) all.push_back({first + j});
    return all;
  }

  bool send(const Instruction& i, std::map<MicrobatchId, double>& from) {
    auto& channel = channels_[channel_of(program_, i)];
    // Where forwards may pile up, activations have room (with_room_for_activations in check.hpp).
    const bool piles_up =
        !task_.tied.empty() || program_.has_copies() || program_.gradients_together;
    if (!channel.empty() && !(piles_up && i.op == Op::SendActivation)) return false;
    auto& packet = channel.emplace_back();
    for (const MicrobatchId m : carried_by(i)) {
      packet.push_back(from.at(m));
      from.erase(m);
    }
    return true;
  }
  bool receive(const Instruction& i, std::map<MicrobatchId, double>& to) {
    auto& channel = channels_[channel_of(program_, i)];
    if (channel.empty()) return false;
    const std::vector<MicrobatchId> carried = carried_by(i);
    for (std::size_t at = 0; at < carried.size(); ++at) to[carried[at]] = channel.front().at(at);
    channel.pop_front();
    return true;
  }

  void hand_in(Stage& stage, const Instruction& i, int copy) {
    Sums& sums = sums_of(i);
    sums.gradient[{i.stage, copy}] = stage.gradient;
    --sums.missing;
  }

  // The share of the gradients' sum that an update uses.
  double rate_of(const Instruction& i) const {
    if (!program_.whole_minibatches) return task_.lr;
    const int copies = program_.copies_of(i.stage),
              of_update = program_.minibatch_of(i.microbatch).value % copies + 1;
    return task_.lr * copies / program_.copies_of({0}) / of_update;
  }

  bool update(Stage& stage, const Instruction& i) {
    if (const Sums& sums = sums_of(i); sums.concerns(i.stage)) {
      if (sums.missing > 0) return false;
      stage.gradient = 0;
      for (const auto& [other, gradient] : sums.gradient)
        if (task_.same_weight(i.stage.value, other.first.value)) stage.gradient += gradient;
    }
    const double next = stage.held.at(stage.newest) - rate_of(i) * stage.gradient;
    stage.gradient = 0;
    stage.newest = i.weights.version;
    stage.held[stage.newest] = next;
    auto& history = history_[i.stage.value];
    const auto version = static_cast<std::size_t>(stage.newest.value);
    if (version == history.size()) history.push_back(next);
    PIPETRAIN_CHECK(history.at(version) == next, "the copies of stage {} differ", i.stage.value);
    drop(stage);
    return true;
  }

  const Program& program_;
  const ScalarTask& task_;
  std::vector<Worker> stages_;                                     // [worker][stage]
  std::map<std::pair<int, MicrobatchId>, Sums> sums_;              // by sync group and update
  std::map<ChannelId, std::deque<std::vector<double>>> channels_;  // of packets
  History history_;
};

// The gradient of the weight of stage s by one micro-batch, where forward reads `f` and backward
// `b`.
inline double scalar_gradient(const std::vector<double>& f, const std::vector<double>& b, int s,
                              double input, double target) {
  double before = input, output = input, above = 1;
  for (std::size_t j = 0; j < f.size(); ++j) {
    if (static_cast<int>(j) < s) before *= f[j];
    if (static_cast<int>(j) > s) above *= b[j];
    output *= f[j];
  }
  return (output - target) * above * before;
}

}  // namespace pipetrain::test
