#include "every_partition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace pipetrain::testing {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kMany = 1 << 20;

// Where in the whole pipeline a group is.
struct Position {
  int devices_before = 0;  // in stages upstream
  int copies = 1;          // of the group, across all outer levels
};

class EveryPartition {
 public:
  EveryPartition(const CutStates& cuts, const PartitionRequest& request)
      : cuts_(cuts), request_(request) {}

  // The layers between two states on the groups of a level from `used` on.
  double rest(std::size_t level, int from, int to, int used, Position position) const {
    const int left = request_.levels[level].groups - used;
    double best = kNever;
    for (int cut = from + 1; cut <= to; ++cut) {
      if (!nested(from, cut) || !nested(cut, to)) continue;
      for (int replicas = 1; replicas <= (request_.straight ? 1 : left); ++replicas) {
        if ((cut == to) != (replicas == left)) continue;
        double cost = stage(level, from, cut, used, replicas, position);
        if (cut != to)
          cost = std::max(
              {cost, transfer(level, cut), rest(level, cut, to, used + replicas, position)});
        best = std::min(best, cost);
      }
    }
    return best;
  }

  int fewest(int from, int to, int used, double bound) const {
    const int left = request_.levels[0].groups - used;
    int best = kMany;
    for (int cut = from + 1; cut <= to; ++cut) {
      if (!nested(from, cut) || !nested(cut, to)) continue;
      for (int replicas = 1; replicas <= (request_.straight ? 1 : left); ++replicas) {
        if ((cut == to) != (replicas == left)) continue;
        if (stage(0, from, cut, used, replicas, {}) > bound) continue;
        if (cut == to)
          best = 1;
        else if (transfer(0, cut) <= bound)
          best = std::min(best, 1 + fewest(cut, to, used + replicas, bound));
      }
    }
    return best;
  }

 private:
  bool paper() const { return request_.costs == PipedreamCosts::Paper; }

  bool nested(int inner, int outer) const {
    if (inner < 0 || inner == outer) return true;
    const auto a = cuts_.layers(kNoLayers, inner), b = cuts_.layers(kNoLayers, outer);
    return std::includes(b.begin(), b.end(), a.begin(), a.end());
  }

  int devices_in_group(std::size_t level) const {
    int devices = 1;
    for (std::size_t l = 0; l < level; ++l) devices *= request_.levels[l].groups;
    return devices;
  }

  double stage(std::size_t level, int from, int to, int used, int replicas,
               Position position) const {
    if (!fits(level, from, to, used, replicas, position)) return kNever;
    const Position inside = {
        position.devices_before + position.copies * used * devices_in_group(level),
        position.copies * replicas};
    const double group =
        level == 0 ? cuts_.compute_ms(from, to) : rest(level - 1, from, to, 0, inside);
    const double m = replicas, bandwidth = request_.levels[level].bytes_per_second;
    const double weights = cuts_.parameter_bytes(from, to);
    if (paper()) return std::max(group, 1000 * 2 * (m - 1) * weights / bandwidth) / m;
    const double shared_by = level > 0 && used == 0 ? request_.levels[level - 1].groups : 1;
    return (group + 1000 * 4 * (m - 1) * weights / (bandwidth * m) / shared_by) / m;
  }

  double transfer(std::size_t level, int cut) const {
    if (!paper()) return 0;
    return 1000 * 2 * cuts_.crossing_bytes(cut) / request_.levels[level].bytes_per_second;
  }

  // By the papers, the warm-up of 1F1B-RR counts all ranks; by the released code, those of each
  // level.
  bool fits(std::size_t level, int from, int to, int used, int replicas, Position position) const {
    if (!request_.memory_bytes) return true;
    double copies = 0;
    if (paper()) {
      if (level > 0) return true;
      const int ranks = devices_in_group(request_.levels.size());
      const int before = position.devices_before + position.copies * used;
      const double each = position.copies * replicas;
      copies = std::floor((ranks - 1 - before) / each) + 1;
    } else {
      copies = std::ceil((request_.levels[level].groups - used - replicas) /
                         static_cast<double>(replicas));
    }
    return copies * (cuts_.saved_bytes(from, to) + cuts_.parameter_bytes(from, to)) <=
           static_cast<double>(*request_.memory_bytes);
  }

  const CutStates& cuts_;
  const PartitionRequest& request_;
};

}  // namespace

int fewest_stages(const CutStates& cuts, const PartitionRequest& request, double bottleneck_ms) {
  return EveryPartition(cuts, request)
      .fewest(kNoLayers, static_cast<int>(cuts.states.size()) - 1, 0, bottleneck_ms);
}

double best_of_every_partition(const CutStates& cuts, const PartitionRequest& request) {
  return EveryPartition(cuts, request)
      .rest(request.levels.size() - 1, kNoLayers, static_cast<int>(cuts.states.size()) - 1, 0, {});
}

}  // namespace pipetrain::testing
