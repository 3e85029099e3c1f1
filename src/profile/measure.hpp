// Measures a model's layers on this machine: the model is trained as one stage for some steps,
// through the same pipeline as any training, with a clock around every kernel.
#pragma once

#include <vector>

#include "backend/backend.hpp"
#include "config/config.hpp"
#include "data/dataset.hpp"
#include "plan/profile.hpp"

namespace pipetrain {

struct Graph;

struct MeasureInput {
  const Config& config;  // its precision, optimizer, data and hardware count, not its pipeline
  const Graph& graph;
  const Dataset& data;
  std::vector<int> samples;  // of micro-batches
  std::vector<int> threads;  // of a stage's kernels
  double seconds = 0.5;      // at least, for each pair of samples and threads
};

// Throws a UsageError if the data have no two micro-batches of a size, and DeviceError and
// DataError as training does. Trains from initial weights; nothing is kept.
Profile measure_profile(const MeasureInput& input);

// The sizes of micro-batches that a mini-batch can be cut into: the mini-batch, its half, and so
// on, at most six, of which the data have at least two each.
std::vector<int> microbatch_sizes_to_measure(std::int64_t batch_size, const Dataset& data);
// The threads that a stage may get: those in the config, or every share of this machine's cores.
std::vector<int> threads_to_measure(const Config& config);

ProfileKey profile_key(const Config& config, const Graph& graph);
// Throws a UsageError that names the first part of the key that differs: times of another model,
// precision or machine say nothing.
void require_same(const ProfileKey& of, const ProfileKey& wanted, const std::string& file);

}  // namespace pipetrain
