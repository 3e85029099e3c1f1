#include "order/replicas.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>
#include <utility>

namespace pipetrain {
namespace {

// The straight pipeline with a stage that is as far from both ends as a replica is.
struct Alike {
  int stages = 1, stage = 0;
};

class Replicated {
 public:
  Replicated(const Order& order, const OrderInput& input, const ReplicaInput& replicas)
      : order_(order), input_(input), replicas_(replicas) {}

  CompactOrder run() {
    place();
    for (int w = 0; w < std::ssize(replicas_.replicas); ++w)
      for (int copy = 0; copy < replicas_.replicas[w]; ++copy) add_worker(w, copy);
    return std::move(made_);
  }

 private:
  void place() {
    made_.microbatches = input_.microbatches;
    made_.minibatches = input_.minibatches;
    made_.repeats = order_.flushes;
    made_.whole_minibatches = replicas_.whole_minibatches;
    std::vector<std::vector<WorkerId>> workers;
    int next = 0;
    for (const int count : replicas_.replicas) {
      auto& copies = workers.emplace_back();
      for (int copy = 0; copy < count; ++copy) copies.push_back({next++});
    }
    const CompactOrder one =
        order_.lists({.stages = input_.stages, .virtual_stages = input_.virtual_stages});
    made_.stages = one.stages;
    for (int s = 0; s < made_.stages; ++s) made_.placement.push_back(workers[s % input_.stages]);
  }

  bool differ() const {
    return std::ranges::adjacent_find(replicas_.replicas, std::not_equal_to<>()) !=
           replicas_.replicas.end();
  }

  Alike alike(int w) const {
    const auto& r = replicas_.replicas;
    const int before = std::accumulate(r.begin(), r.begin() + w, 0),
              all = std::accumulate(r.begin(), r.end(), 0);
    const int unit = replicas_.whole_minibatches && differ() ? input_.microbatches : 1;
    const int behind = (all - 1 - before) / r[w] * unit;
    return {before / r[w] + 1 + behind, before / r[w]};
  }

  // How many micro-batches the replica has in the lists.
  int own_count(StageId stage, int copy) const {
    if (order_.flushes) return made_.share_of(stage, copy, {0});
    int count = 0;
    for (MinibatchId k{0}; k.value < input_.minibatches; ++k.value)
      count += made_.share_of(stage, copy, k);
    return count;
  }

  // The j-th of them.
  MicrobatchId own(int w, int copy, int j) const {
    const int n = input_.microbatches, r = replicas_.replicas[w];
    if (replicas_.whole_minibatches) return {(j / n * r + copy) * n + j % n};
    const int share = made_.share_of({w}, copy, {0});
    return {j / share * n + copy + j % share * r};
  }

  const ComputeList& straight(const Alike& alike, int count) {
    auto& list = straight_[{alike.stages, alike.stage, count}];
    if (list.empty())
      list = order_
                 .lists({.stages = alike.stages,
                         .microbatches = count,
                         .warmup = input_.warmup,
                         .virtual_stages = input_.virtual_stages,
                         .only_worker = alike.stage})
                 .workers[static_cast<std::size_t>(alike.stage)];
    return list;
  }

  void add_worker(int w, int copy) {
    const Alike alike = this->alike(w);
    auto& list = made_.workers.emplace_back();
    for (const ComputeInstruction i : straight(alike, own_count({w}, copy)))
      list.push_back({i.op(), StageId{i.stage().value / alike.stages * input_.stages + w},
                      own(w, copy, i.microbatch().value)});
  }

  const Order& order_;
  const OrderInput& input_;
  const ReplicaInput& replicas_;
  CompactOrder made_;
  // by stages, stage and micro-batches
  std::map<std::tuple<int, int, int>, ComputeList> straight_;
};

}  // namespace

CompactOrder replicated(const Order& order, const OrderInput& input, const ReplicaInput& replicas) {
  return Replicated(order, input, replicas).run();
}

}  // namespace pipetrain
