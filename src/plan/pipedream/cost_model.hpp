// What PipeDream's optimizer charges for a stage: by its paper (SOSP 2019, section 3.1), or as
// computed by the code that was released with it. They differ here:
//
//                               paper                    code
//   m replicas of a stage       max(compute, sync) / m   (compute + sync) / m
//   sync of w bytes of weights  2 (m - 1) w / B          4 (m - 1) w / (B m)
//   a bytes across a cut        2 a / B, beside stages   nothing
//   copies that memory holds    in flight, the live one  in flight, without the live one
//
// Devices form groups in levels: a group of level 1 has devices, one of level 2 has groups of level
// 1. On an outer level the code divides the sync of a group's first stage by the number of inner
// groups.
#pragma once

#include <compare>
#include <cstdint>
#include <span>

namespace pipetrain {

enum class PipedreamCosts { Paper, Code };

struct DeviceLevel {
  int groups = 1;                    // of the level below; on the innermost level: devices
  double bytes_per_second = 1.25e9;  // between two of the groups
};

// A stage on some of the groups of a level.
struct StageOnLevel {
  double group_ms = 0;  // the time that one group takes for a mini-batch
  double parameter_bytes = 0;
  int replicas = 1;       // groups that take the mini-batches in turn
  bool is_first = false;  // of the stages on this level
  int groups_inside = 1;  // in each of its groups
};

double stage_ms(PipedreamCosts costs, const StageOnLevel& stage, const DeviceLevel& level);

// The activations of a mini-batch, and their gradients on the way back.
double transfer_ms(PipedreamCosts costs, double crossing_bytes, const DeviceLevel& level);

// For the whole model on every device.
double data_parallel_ms(PipedreamCosts costs, double compute_ms, double parameter_bytes,
                        std::span<const DeviceLevel> levels);

// For each group of a stage, how many groups come later in the pipeline: a fraction, because the
// replicas of a stage share those after them.
struct GroupsBehind {
  std::int64_t count = 0, shared_by = 1;
  auto operator<=>(const GroupsBehind&) const = default;
};

// For a stage's replicas, with `later` groups of their level after them and `behind` after that
// level as a whole.
GroupsBehind behind_stage(GroupsBehind behind, int later, int replicas);
// The same, counted in the groups inside each of those groups.
GroupsBehind in_inner_groups(GroupsBehind behind, int groups_inside);

// Copies of activations and weights. A replica has in flight as many mini-batches as there are
// devices after it, rounded up, and the one that it works on.
std::int64_t copies_held(PipedreamCosts costs, GroupsBehind devices_behind);

}  // namespace pipetrain
