// The text of --times, such as F=1,B=2,transfer=0.5, and what it costs a program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "program/compact_order.hpp"
#include "program/costs.hpp"

namespace pipetrain {

// As they were named: one number for all stages, or one for each; empty where a time is not named.
struct Times {
  std::vector<double> forward;   // F
  std::vector<double> backward;  // B: the whole backward; its input half where W is named too
  std::vector<double> weight;    // W: the weight half
  std::vector<double> tail;      // of the weight half: what comes after the gradients' send
  std::vector<double> transfer;  // over the boundary to the next stage: one less than stages
  std::vector<double> slowdown;  // of workers: 2 takes twice as long
  std::vector<double> jitter;    // Disturbance::jitter, one number
  std::vector<double> seed;      // of the jitter, one whole number
};

// Throws UsageError.
Times parse_times(std::string_view text);

// What is not named: F = 1, B = 2 (1 for the input half, where W is named), tail = transfer =
// 0. A whole
// backward is halved. Where a mini-batch's backwards go together, B and W are those of the whole
// mini-batch, and a B that is not named is that of N micro-batches. Throws UsageError, with the
// schedule's name, where there are not as many numbers as stages.
Costs costs_of(const Times& times, const ProgramShape& shape, std::string_view schedule);

// What the program computes in zero time, a line for each kind.
std::vector<std::string> timeless(const Program& program, const Costs& costs,
                                  std::string_view schedule);
// The same of an order whose gradients are sent early.
std::vector<std::string> timeless(const CompactOrder& order, const Costs& costs,
                                  std::string_view schedule);

}  // namespace pipetrain
