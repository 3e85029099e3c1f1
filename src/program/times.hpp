// The text of --times, such as F=1,B=2,transfer=0.5, and the costs that it means for a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/compact_order.hpp"
#include "program/costs.hpp"

namespace pipetrain {

// As given: one number for all stages, or one for each; empty if a time is not given.
struct Times {
  std::vector<double> forward;   // F
  std::vector<double> backward;  // B: the whole backward; its input half if W is given too
  std::vector<double> weight;    // W: the weight half
  std::vector<double> tail;      // the part of the weight half after the gradients are sent
  std::vector<double> transfer;  // over the boundary to the next stage: one fewer than stages
  std::vector<double> slowdown;  // of workers: 2 takes twice the time
  std::vector<double> jitter;    // Disturbance::jitter, one number
  std::vector<double> seed;      // of the jitter, one whole number
};

// Throws UsageError.
Times parse_times(std::string_view text);

// Defaults: F = 1, B = 2 (1 for the input half, if W is given), tail = transfer = 0. A whole
// backward is divided into equal halves. If a mini-batch's backwards go together, B and W are those
// of the whole mini-batch, and the default B is that of N micro-batches. Throws a UsageError with
// the schedule's name if there are not as many numbers as stages.
Costs costs_of(const Times& times, const ProgramShape& shape, std::string_view schedule);

// What the program computes in zero time, one line per kind.
std::vector<std::string> timeless(const Program& program, const Costs& costs,
                                  std::string_view schedule);
// The same for an order whose gradients are sent early.
std::vector<std::string> timeless(const CompactOrder& order, const Costs& costs,
                                  std::string_view schedule);

}  // namespace pipetrain
