// Measures a model's layers on this machine: it is trained as one stage for some steps, through the
// pipeline that trains, with a clock around every kernel.
#pragma once

#include <vector>

#include "backend/backend.hpp"
#include "config/config.hpp"
#include "data/dataset.hpp"
#include "plan/profile.hpp"

namespace pipetrain {

struct Graph;

struct MeasureInput {
  const Config& config;  // precision, optimizer, data and hardware are its; its pipeline is not
  const Graph& graph;
  const Dataset& data;
  std::vector<int> samples;  // of micro-batches
  std::vector<int> threads;  // of a stage's kernels
  double seconds = 0.5;      // at least, for each pair of them
};

// UsageError where the data have no two micro-batches of a size; DeviceError, DataError as
// training. Trains from initial weights; nothing is kept.
Profile measure_profile(const MeasureInput& input);

// Sizes of micro-batches that a mini-batch can be cut into: the mini-batch, its half, and so on,
// six at most, of those that the data have two of.
std::vector<int> microbatch_sizes_to_measure(std::int64_t batch_size, const Dataset& data);
// Threads that a stage may get: those of the config, or every share of this machine's cores.
std::vector<int> threads_to_measure(const Config& config);

ProfileKey profile_key(const Config& config, const Graph& graph);
// UsageError that names the first part of the key that is another one: times of another model,
// precision or machine say nothing.
void require_same(const ProfileKey& of, const ProfileKey& wanted, const std::string& file);

}  // namespace pipetrain
