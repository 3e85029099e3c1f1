#include "plan/pipedream/cost_model.hpp"

#include <algorithm>
#include <numeric>

namespace pipetrain {
namespace {

constexpr double kMsPerSecond = 1000;

GroupsBehind reduced(std::int64_t count, std::int64_t shared_by) {
  const std::int64_t divisor = std::max<std::int64_t>(std::gcd(count, shared_by), 1);
  return {count / divisor, shared_by / divisor};
}

}  // namespace

double stage_ms(PipedreamCosts costs, const StageOnLevel& stage, const DeviceLevel& level) {
  const double m = stage.replicas;
  const double once_ms = kMsPerSecond * stage.parameter_bytes / level.bytes_per_second;
  if (costs == PipedreamCosts::Paper) return std::max(stage.group_ms, 2 * (m - 1) * once_ms) / m;
  const double shared_by = stage.is_first ? stage.groups_inside : 1;
  return (stage.group_ms + 4 * (m - 1) * once_ms / m / shared_by) / m;
}

double transfer_ms(PipedreamCosts costs, double crossing_bytes, const DeviceLevel& level) {
  if (costs == PipedreamCosts::Code) return 0;
  return kMsPerSecond * 2 * crossing_bytes / level.bytes_per_second;
}

double data_parallel_ms(PipedreamCosts costs, double compute_ms, double parameter_bytes,
                        std::span<const DeviceLevel> levels) {
  StageOnLevel whole{.group_ms = compute_ms, .parameter_bytes = parameter_bytes, .is_first = true};
  for (const DeviceLevel& level : levels) {
    whole.replicas = level.groups;
    whole.group_ms = stage_ms(costs, whole, level);
    whole.groups_inside = level.groups;
  }
  return whole.group_ms;
}

GroupsBehind behind_stage(GroupsBehind behind, int later, int replicas) {
  return reduced(behind.count + later * behind.shared_by, behind.shared_by * replicas);
}

GroupsBehind in_inner_groups(GroupsBehind behind, int groups_inside) {
  return reduced(behind.count * groups_inside, behind.shared_by);
}

std::int64_t copies_held(PipedreamCosts costs, GroupsBehind devices_behind) {
  const auto [count, shared_by] = devices_behind;
  const std::int64_t in_flight = (count + shared_by - 1) / shared_by;
  return costs == PipedreamCosts::Paper ? in_flight + 1 : in_flight;
}

}  // namespace pipetrain
