// What the ranks of a training know of its data. Those without the first and the last stage read no
// sample, and open no file of samples: rank 0 sends them what follows from the data.
#pragma once

#include "base/ranks.hpp"
#include "run/session.hpp"
#include "transport/job.hpp"

namespace pipetrain {

// Has the rank a copy of the first or the last stage? UsageError where the schedule refuses the
// config.
bool reads_samples(const Config& config, const Ranks& ranks);

struct DataFacts {
  TrainingLength length;
  MinibatchSizes sizes;
};
DataFacts data_facts(const Config& config, const Datasets& data);

void send_data_facts(Job& job, const DataFacts& facts);  // rank 0's, to all others
DataFacts take_data_facts(Job& job);

}  // namespace pipetrain
