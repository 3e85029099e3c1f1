// How much a program holds at once, derived from its lists alone: memory is sized by it.
#pragma once

#include <vector>

#include "program/program.hpp"

namespace pipetrain {

// Per stage, the largest of its copies.
// Micro-batches from their forward to the end of the last half of their backward.
std::vector<int> peak_activations(const Program& program);
// The same, but from their input on: when it is loaded or received or, without either, the forward.
std::vector<int> peak_inputs(const Program& program);
// Micro-batches whose activations exist at once: as peak_inputs, except in a program that
// recomputes. There they count from the recomputation on, and a running forward counts as one more.
std::vector<int> peak_slots(const Program& program);
// Micro-batches from their forward to the update that they contribute to.
std::vector<int> peak_until_update(const Program& program);
// Versions that are the newest or that a later instruction reads. An update whose old version is
// not read any more happens in place and counts as one.
std::vector<int> peak_weight_versions(const Program& program);

// Per worker. Micro-batches (times stages, if it holds several) from their forward to the input
// half of their backward: what papers call in flight.
std::vector<int> peak_in_flight(const Program& program);
// The same for the stage of the worker with the most versions.
std::vector<int> peak_weight_versions_of_workers(const Program& program);

}  // namespace pipetrain
