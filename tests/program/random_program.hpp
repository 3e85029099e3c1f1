// Random well-formed orders, by running a pipeline of channels with room for one in which every
// worker does, at random, anything that it can. Such a list finishes, since it has just done so.
#pragma once

#include <algorithm>
#include <deque>
#include <random>
#include <vector>

#include "program/passes.hpp"
#include "versions/bind.hpp"

namespace pipetrain::test {

class RandomOrder {
 public:
  RandomOrder(std::mt19937& random, int stages, int microbatches, int minibatches, bool split)
      : random_(random), last_(stages - 1), up_(stages), down_(stages), split_(split) {
    program_.stages = stages;
    program_.microbatches = microbatches;
    program_.minibatches = minibatches;
    program_.workers.resize(stages);
    waiting_.resize(stages);
    for (int k = 0; k < minibatches; ++k) {
      std::vector<int> order(microbatches);
      for (int m = 0; m < microbatches; ++m) order[m] = k * microbatches + m;
      std::shuffle(order.begin(), order.end(), random_);
      inputs_.insert(inputs_.end(), order.begin(), order.end());
    }
  }

  Program make() {
    const std::size_t length = program_.total_microbatches() * (split_ ? 3 : 2);
    auto done = [&](const auto& list) { return list.size() == length; };
    while (!std::all_of(program_.workers.begin(), program_.workers.end(), done)) {
      const int s = below(last_ + 1);
      const int choice = below(3);
      choice == 0 ? forward(s) : choice == 1 ? backward(s) : weight_half(s);
    }
    return program_;
  }

 private:
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(random_); }
  void add(Op op, int s, int m) { program_.workers[s].push_back({op, {s}, {m}, {}}); }

  void forward(int s) {
    auto& from = s == 0 ? inputs_ : up_[s - 1];
    if (from.empty() || (s < last_ && !up_[s].empty())) return;
    const int m = from.front();
    from.pop_front();
    add(Op::Forward, s, m);
    (s < last_ ? up_[s] : ready_).push_back(m);
  }

  // The last stage takes any micro-batch of the oldest mini-batch, the others what comes.
  void backward(int s) {
    if (s > 0 && !down_[s - 1].empty()) return;
    auto& from = s < last_ ? down_[s] : ready_;
    if (from.empty()) return;
    auto pick = from.begin();
    if (s == last_) {
      pick += below(static_cast<int>(from.size()));
      if (*pick / program_.microbatches != finished_ / program_.microbatches) return;
      ++finished_;
    }
    const int m = *pick;
    from.erase(pick);
    add(split_ ? Op::BackwardInput : Op::Backward, s, m);
    if (split_) waiting_[s].push_back(m);
    if (s > 0) down_[s - 1].push_back(m);
  }

  void weight_half(int s) {
    if (waiting_[s].empty()) return;
    add(Op::BackwardWeight, s, waiting_[s].front());
    waiting_[s].pop_front();
  }

  std::mt19937& random_;
  int last_, finished_ = 0;
  Program program_;
  std::deque<int> inputs_, ready_;
  std::vector<std::deque<int>> up_, down_, waiting_;
  bool split_;
};

// Backwards are split in half of the programs. Not under vertical sync: there a later stage may put
// off its weight half, and its update, until after a forward that should read that version.
inline Program random_program(std::mt19937& random, const VersionPolicy& policy) {
  auto below = [&](int n) { return std::uniform_int_distribution<int>(1, n)(random); };
  const int stages = below(6), microbatches = below(6), minibatches = below(4);
  const bool split = policy.name != "vertical_sync" && random() % 2 == 0;
  auto order = RandomOrder(random, stages, microbatches, minibatches, split).make();
  return add_transfers(add_loads(bind_versions(add_updates(std::move(order)), policy)));
}

}  // namespace pipetrain::test
