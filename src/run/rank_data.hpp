// What the ranks of a training know about its data. Ranks without the first or the last stage read
// no samples and open no files of samples: rank 0 sends them what follows from the data.
#pragma once

#include "base/ranks.hpp"
#include "run/session.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// Does the rank have a copy of the first or the last stage? UsageError if the schedule refuses the
// config.
bool reads_samples(const Config& config, const Ranks& ranks);

struct DataFacts {
  TrainingLength length;
  MinibatchSizes sizes;
  std::int64_t validation_steps = 0;
};
DataFacts data_facts(const Config& config, const Datasets& data);

void send_data_facts(Job& job, const DataFacts& facts);  // from rank 0 to all others
DataFacts take_data_facts(Job& job);

}  // namespace pipetrain
