// What is reported about one mini-batch: the figures of metrics.jsonl and of the console, from the
// records that the stages leave.
#pragma once

#include <cstdint>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "program/communication.hpp"

namespace pipetrain {

struct StageSummary {
  double busy = 0, waiting = 0;  // shares of the step's time, 0..1
  std::size_t memory_bytes = 0;
  int weight_versions = 1;
  double staleness = 0;  // updates between forward and backward, mean over micro-batches
};

struct StepSummary {
  std::int64_t step = 0;   // from 1
  std::int64_t epoch = 0;  // from 1
  double loss = 0;         // mean over the mini-batch's samples
  double accuracy = 0;     // share of samples, measured in the forwards; classification only
  double lr = 0, grad_norm = 0;
  int samples = 0;
  double seconds = 0;
  double samples_per_second = 0;
  double tokens_per_second = 0;  // for sequences with a label per position; else 0
  double bubble = 0;             // idle share of the time of all stages
  bool skipped = false;
  Communication communication = {};
  std::vector<StageSummary> stages;
};

nlohmann::ordered_json step_event(const StepSummary& summary);

}  // namespace pipetrain
