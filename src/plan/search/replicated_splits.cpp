#include "plan/search/replicated_splits.hpp"

#include "graph/layer.hpp"

#include <algorithm>
#include <limits>

namespace pipetrain {
namespace {

constexpr double kNoSplit = std::numeric_limits<double>::infinity();
constexpr int kMostReplicatedStages = 8;

// best(p, j, m): the slowest of the first p + 1 stages, over layers [0, j) on devices [0, m).
class ReplicaPartition {
 public:
  explicit ReplicaPartition(const ReplicaBalance& in)
      : in_(in),
        layers_(static_cast<int>(in.chain.layers.size())),
        devices_(static_cast<int>(in.speeds.size())) {
    for (const ChainLayer& layer : in.chain.layers) {
      compute_.push_back(compute_.back() + layer.compute_ms());
      bytes_.push_back(bytes_.back() + static_cast<double>(layer.parameter_bytes));
    }
  }

  int stages() const { return std::min({layers_, devices_ - 1, kMostReplicatedStages}); }
  double steps() const {
    const double pairs = 0.25 * layers_ * layers_ * devices_ * devices_;
    return pairs * std::max(0, stages());
  }

  std::vector<ReplicatedSplit> run() {
    std::vector<ReplicatedSplit> splits;
    for (int p = 0; p < stages(); ++p) {
      add_stage(p);
      if (best_[p][at(layers_, devices_)].slowest < kNoSplit) splits.push_back(split(p));
    }
    return splits;
  }

 private:
  struct Best {
    double slowest = kNoSplit;
    int first = 0, devices_before = 0;  // of the last stage
  };

  std::size_t at(int j, int m) const {
    return static_cast<std::size_t>(j) * (devices_ + 1) + static_cast<std::size_t>(m);
  }

  // The time of layers [i, j) on devices [from, to).
  double stage_ms(int i, int j, int from, int to) const {
    const double speed = *std::min_element(in_.speeds.begin() + from, in_.speeds.begin() + to);
    const double sum =
        in_.sum_ms && to - from > 1 ? in_.sum_ms(to - from, bytes_[j] - bytes_[i]) : 0;
    return (compute_[j] - compute_[i]) / speed / (to - from) + sum;
  }
  double cut_ms(int before) const {
    return before == 0 || in_.cut_ms.empty() ? 0 : in_.cut_ms[before - 1];
  }

  void add_stage(int p) {
    auto& best = best_.emplace_back(at(layers_, devices_) + 1);
    for (int m = p + 1; m <= devices_; ++m)
      for (int j = p + 1; j <= layers_; ++j)
        for (int d = p; d < m; ++d) {
          if (p == 0 && d > 0) break;
          for (int i = p; i < j && (p > 0 || i == 0); ++i) try_last(best[at(j, m)], p, i, j, d, m);
        }
  }

  void try_last(Best& best, int p, int i, int j, int d, int m) const {
    const double before = p == 0 ? 0 : best_[p - 1][at(i, d)].slowest;
    if (before >= best.slowest || cut_ms(i) >= best.slowest) return;
    const double slowest = std::max({before, cut_ms(i), stage_ms(i, j, d, m)});
    if (slowest < best.slowest) best = {slowest, i, d};
  }

  ReplicatedSplit split(int p) const {
    ReplicatedSplit split{Firsts(p + 1), std::vector<int>(p + 1)};
    for (int j = layers_, m = devices_; p >= 0; --p) {
      const Best& best = best_[p][at(j, m)];
      split.firsts[p] = best.first;
      split.replicas[p] = m - best.devices_before;
      j = best.first;
      m = best.devices_before;
    }
    return split;
  }

  const ReplicaBalance& in_;
  const int layers_, devices_;
  std::vector<double> compute_ = {0}, bytes_ = {0};  // over the layers before each
  std::vector<std::vector<Best>> best_;              // by number of stages
};

}  // namespace

std::vector<ReplicatedSplit> replicated_splits(const ReplicaBalance& input, double most) {
  ReplicaPartition partition(input);
  if (partition.steps() > most) return {};
  return partition.run();
}

std::vector<ReplicatedSplit> evenly_replicated_splits(const ReplicaBalance& input) {
  const int devices = static_cast<int>(input.speeds.size()),
            layers = static_cast<int>(input.chain.layers.size());
  std::vector<ReplicatedSplit> splits;
  for (int stages = 1; stages < devices && stages <= layers; ++stages) {
    if (devices % stages != 0) continue;
    const int replicas = devices / stages;
    std::vector<double> speeds;
    for (int s = 0; s < stages; ++s)
      speeds.push_back(*std::min_element(input.speeds.begin() + s * replicas,
                                         input.speeds.begin() + (s + 1) * replicas));
    splits.push_back({balanced_firsts({input.chain, speeds, input.cut_ms}),
                      std::vector<int>(static_cast<std::size_t>(stages), replicas)});
  }
  return splits;
}

}  // namespace pipetrain
