// The ranks of a training other than rank 0: they have the same config and model and their own
// workers' stages, and do what rank 0 commands.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

#include "config/read.hpp"
#include "run/options.hpp"
#include "transport/job.hpp"

namespace pipetrain {

struct TrainingStart {  // what only rank 0 knows, because it looks into the run's folder
  std::filesystem::path folder;
  std::filesystem::path checkpoint;          // that it resumes from; empty: none
  std::optional<std::int64_t> anneal_steps;  // EarlierRun's
};
void send_start(Job& job, const TrainingStart& start);

// Returns when rank 0 has ended the job.
int follow_training(const Options& options, Job& job);

}  // namespace pipetrain
