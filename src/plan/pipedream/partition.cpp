#include "plan/pipedream/partition.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "base/check.hpp"

namespace pipetrain {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

enum class Goal { LeastTime, LeastMemory };

// The best way found to put the layers up to a state onto a number of groups.
struct Choice {
  double cost = kNever;
  int split = kNoLayers;  // the state before the last stage
  int replicas = 0;       // of the last stage
  int stages = 0;

  // At equal cost, fewer stages stash less and send less.
  bool better_than(const Choice& other) const {
    return cost < other.cost || (cost == other.cost && stages < other.stages);
  }
};

// A stage that the search tries: the layers between two states, on the last `replicas` of the first
// `groups` groups.
struct Trial {
  int from = kNoLayers, to = 0;
  int groups = 1, replicas = 1;
  bool is_first = false;
};

class PartitionSearch {
 public:
  PartitionSearch(const CutStates& cuts, const PartitionRequest& request, Goal goal)
      : cuts_(cuts), request_(request), goal_(goal) {}

  std::optional<std::vector<PartitionStage>> best() {
    const auto outermost = request_.levels.size() - 1;
    const int whole = count() - 1;
    const double least = find(outermost, kNoLayers, {})(level_at(outermost).groups, whole).cost;
    if (least == kNever) return std::nullopt;
    enough_ = least * (1 + 1e-12);  // equal except for rounding
    return stages(outermost, kNoLayers, whole, {});
  }

 private:
  // choices(m, j): for the layers from the start of a search up to state j, on m groups.
  struct Choices {
    int states;
    Indexed<Choice> list;

    Choices(int groups, int count) : states(count), list((groups + 1) * count) {}
    Choice& operator()(int groups, int state) { return list[groups * states + state]; }
  };
  using GroupCosts = std::vector<double>;  // for the layers between two states; a row per `from`

  int count() const { return static_cast<int>(cuts_.states.size()); }
  const DeviceLevel& level_at(std::size_t level) const { return request_.levels[level]; }
  int groups_inside(std::size_t level) const {
    return level == 0 ? 1 : request_.levels[level - 1].groups;
  }
  int devices_inside(std::size_t level) const {
    int devices = 1;
    for (std::size_t l = 0; l < level; ++l) devices *= request_.levels[l].groups;
    return devices;
  }

  // What comes after the groups of a stage on `level`.
  GroupsBehind behind_trial(std::size_t level, int groups, int replicas,
                            GroupsBehind behind) const {
    return behind_stage(behind, level_at(level).groups - groups, replicas);
  }
  // What comes after the groups inside such a group. The released code looks at each level alone.
  GroupsBehind behind_inside(std::size_t level, GroupsBehind behind) const {
    const bool counts = needs_memory() && request_.costs == PipedreamCosts::Paper;
    return counts ? in_inner_groups(behind, groups_inside(level)) : GroupsBehind{};
  }
  bool needs_memory() const { return request_.memory_bytes || goal_ == Goal::LeastMemory; }

  // ---- costs

  // 0 if the level does not count: the paper's stages take the memory of devices, and the code asks
  // of a group what it asks of a device.
  double memory_at(std::size_t level, int from, int to, GroupsBehind behind) const {
    if (level > 0 && request_.costs == PipedreamCosts::Paper) return 0;
    const auto copies = static_cast<double>(copies_held(request_.costs, behind));
    return copies * (cuts_.saved_bytes(from, to) + cuts_.parameter_bytes(from, to));
  }

  double cost_of(std::size_t level, const Trial& t, GroupsBehind behind,
                 const GroupCosts* inside) const {
    return std::max(unclamped_cost(level, t, behind, inside), enough_for(level));
  }

  double unclamped_cost(std::size_t level, const Trial& t, GroupsBehind behind,
                        const GroupCosts* inside) const {
    const double group = inside ? (*inside)[index(t.from, t.to)] : cuts_.compute_ms(t.from, t.to);
    const double memory = needs_memory() ? memory_at(level, t.from, t.to, behind) : 0;
    if (goal_ == Goal::LeastMemory) return std::max(inside ? group : 0, memory);
    if (request_.memory_bytes && memory > static_cast<double>(*request_.memory_bytes))
      return kNever;
    return time_of(level, t, group);
  }

  double time_of(std::size_t level, const Trial& t, double group_ms) const {
    return stage_ms(request_.costs,
                    {.group_ms = group_ms,
                     .parameter_bytes = cuts_.parameter_bytes(t.from, t.to),
                     .replicas = t.replicas,
                     .is_first = t.is_first,
                     .groups_inside = groups_inside(level)},
                    level_at(level));
  }

  double crossing_of(std::size_t level, int state) const {
    if (goal_ == Goal::LeastMemory) return 0;
    return transfer_ms(request_.costs, cuts_.crossing_bytes(state), level_at(level));
  }

  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from + 1) * cuts_.states.size() + static_cast<std::size_t>(to);
  }

  // What a group of the level below costs, for any two states; null on the innermost level.
  const GroupCosts* group_costs(std::size_t level, GroupsBehind behind_group) {
    if (level == 0) return nullptr;
    const GroupsBehind inside = behind_inside(level, behind_group);
    const auto [known, is_new] = known_.try_emplace({level - 1, inside});
    if (is_new) {
      const int groups = level_at(level - 1).groups;
      known->second.assign(index(count(), 0), kNever);
      for (int from = kNoLayers; from < count(); ++from) {
        Choices found = find(level - 1, from, inside);
        for (int to = from + 1; to < count(); ++to)
          known->second[index(from, to)] = found(groups, to).cost;
      }
    }
    return &known->second;
  }

  // ---- the search on one level

  Choices find(std::size_t level, int start, GroupsBehind behind) {
    Choices found(level_at(level).groups, count());
    const std::vector<int> ends = states_after(start);
    for (int groups = 1; groups <= level_at(level).groups; ++groups) {
      if (groups == 1 || !request_.straight)
        try_one_stage(level, start, groups, behind, ends, found);
      const int most = request_.straight ? std::min(2, groups) : groups;
      for (int replicas = 1; replicas < most; ++replicas)
        try_last_stages(level, start, groups, replicas, behind, ends, found);
    }
    return found;
  }

  std::vector<int> states_after(int start) const {
    std::vector<int> after;
    for (int state = start + 1; state < count(); ++state)
      if (start == kNoLayers || layers(state).contains(layers(start))) after.push_back(state);
    return after;
  }
  const LayerSet& layers(int state) const { return cuts_.states[state].layers; }

  void try_one_stage(std::size_t level, int start, int groups, GroupsBehind behind,
                     const std::vector<int>& ends, Choices& found) {
    const GroupsBehind behind_it = behind_trial(level, groups, groups, behind);
    const GroupCosts* inside = group_costs(level, behind_it);
    for (const int end : ends) {
      const Trial trial{start, end, groups, groups, true};
      found(groups, end) = {cost_of(level, trial, behind_it, inside), start, groups, 1};
    }
  }

  void try_last_stages(std::size_t level, int start, int groups, int replicas, GroupsBehind behind,
                       const std::vector<int>& ends, Choices& found) {
    const GroupsBehind behind_it = behind_trial(level, groups, replicas, behind);
    const GroupCosts* inside = group_costs(level, behind_it);
    for (const int end : ends) {
      Choice& best = found(groups, end);
      const Window window(*this, level, start, end);
      const auto& splits = cuts_.inside[end];
      const auto latest = std::partition_point(splits.begin(), splits.end(), [&](int split) {
        return !window.too_late(split, groups - replicas, best.cost);
      });
      for (auto split = std::make_reverse_iterator(latest); split != splits.rend(); ++split) {
        if (window.too_early(*split, replicas, best.cost)) break;
        const Choice& before = found(groups - replicas, *split);
        const double others = std::max(before.cost, crossing_of(level, *split));
        if (others > best.cost || others == kNever) continue;
        const Trial trial{*split, end, groups, replicas, false};
        const double cost = std::max(others, cost_of(level, trial, behind_it, inside));
        const Choice choice{cost, *split, replicas, before.stages + 1};
        if (cost < kNever && choice.better_than(best)) best = choice;
      }
    }
  }

  // No stage takes less time than its compute shared by all its devices, so splits that leave too
  // much of it on one side need not be tried.
  class Window {
   public:
    Window(const PartitionSearch& search, std::size_t level, int start, int end)
        : search_(search), start_(start), end_(end), devices_(search.devices_inside(level)) {}

    bool too_late(int split, int groups_before, double best) const {
      return !fits(start_, split, groups_before, best);
    }
    bool too_early(int split, int replicas, double best) const {
      return !fits(split, end_, replicas, best);
    }

   private:
    bool fits(int from, int to, int groups, double best) const {
      if (search_.goal_ == Goal::LeastMemory || best == kNever) return true;
      return search_.cuts_.compute_ms(from, to) <= best * groups * devices_;
    }

    const PartitionSearch& search_;
    int start_, end_, devices_;
  };

  // ---- what was found

  std::vector<Trial> trials(std::size_t level, int start, int end, GroupsBehind behind) {
    Choices found = find(level, start, behind);
    std::vector<Trial> trials;
    int groups = level_at(level).groups;
    while (end != start) {
      const Choice choice = found(groups, end);
      trials.push_back({choice.split, end, groups, choice.replicas, choice.split == start});
      end = choice.split;
      groups -= choice.replicas;
    }
    PIPETRAIN_CHECK(groups == 0, "{} groups have no stage", groups);
    std::reverse(trials.begin(), trials.end());
    return trials;
  }

  // The devices are numbered from the first one of a group.
  std::vector<PartitionStage> stages(std::size_t level, int start, int end, GroupsBehind behind) {
    std::vector<PartitionStage> all;
    for (const Trial& trial : trials(level, start, end, behind)) {
      const GroupsBehind behind_it = behind_trial(level, trial.groups, trial.replicas, behind);
      for (PartitionStage& stage : inner_stages(level, trial, behind_it)) {
        stage.time_ms = time_of(level, trial, stage.time_ms);
        stage.transfer_ms /= trial.replicas;
        stage.memory_bytes =
            std::max(stage.memory_bytes, memory_at(level, trial.from, trial.to, behind_it));
        stage.devices = on_groups(stage.devices, trial, devices_inside(level));
        all.push_back(std::move(stage));
      }
      if (trial.to != end)
        all.back().transfer_ms =
            transfer_ms(request_.costs, cuts_.crossing_bytes(trial.to), level_at(level));
    }
    return all;
  }

  std::vector<PartitionStage> inner_stages(std::size_t level, const Trial& trial,
                                           GroupsBehind behind) {
    if (level > 0) return stages(level - 1, trial.from, trial.to, behind_inside(level, behind));
    return {{.from = trial.from,
             .to = trial.to,
             .devices = {0},
             .time_ms = cuts_.compute_ms(trial.from, trial.to)}};
  }

  static std::vector<int> on_groups(const std::vector<int>& devices, const Trial& trial,
                                    int devices_of_group) {
    std::vector<int> all;
    for (int group = trial.groups - trial.replicas; group < trial.groups; ++group)
      for (const int device : devices) all.push_back(group * devices_of_group + device);
    return all;
  }

  // Once the bottleneck is known, no stage of the outermost level has to cost less.
  double enough_for(std::size_t level) const {
    return level + 1 == request_.levels.size() ? enough_ : 0;
  }

  const CutStates& cuts_;
  const PartitionRequest& request_;
  Goal goal_;
  double enough_ = 0;
  std::map<std::pair<std::size_t, GroupsBehind>, GroupCosts> known_;
};

}  // namespace

std::optional<std::vector<PartitionStage>> fastest_partition(const CutStates& cuts,
                                                             const PartitionRequest& request) {
  return PartitionSearch(cuts, request, Goal::LeastTime).best();
}

std::optional<std::vector<PartitionStage>> smallest_partition(const CutStates& cuts,
                                                              const PartitionRequest& request) {
  return PartitionSearch(cuts, request, Goal::LeastMemory).best();
}

double candidates(const CutStates& cuts, const PartitionRequest& request) {
  const auto states = static_cast<double>(cuts.states.size());
  double sum = 0, searches = 1;  // of a level: one for each number of groups after it
  for (std::size_t l = request.levels.size(); l > 0; --l) {
    const double groups = request.levels[l - 1].groups;
    const double shares = request.straight ? groups : groups * (groups + 1) / 2;
    const bool outermost = l == request.levels.size();
    sum += searches * shares * (outermost ? states * states / 2 : states * states * states / 6);
    if (request.memory_bytes && request.costs == PipedreamCosts::Paper) searches *= shares;
  }
  return sum;
}

}  // namespace pipetrain
