// What a run directory says about its run, for a report: the start, every step, every validation
// and the end from metrics.jsonl, the stages from plan.json, and the texts of the other files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace pipetrain {

struct StepPoint {
  std::int64_t step = 0;  // from 1
  double seconds = 0;     // of training up to the step's end, without validations and saves
  double loss = 0;        // NaN if it was not finite
  double lr = 0, samples_per_second = 0, bubble = 0;
};

struct ValidationPoint {
  std::int64_t step = 0;
  double epoch = 0;    // epochs trained before, 2.5 in the middle of the third
  double seconds = 0;  // of training before, as above
  double loss = 0;
  std::optional<double> accuracy, perplexity, bleu;
};

struct StabilityPoint {
  std::int64_t step = 0;  // steps trained before
  double lr_edge = 0;     // the largest stable rate; NaN if there is none
  double margin = 0;      // lr_edge by the rate at that time; NaN if there is none
};

struct StageRecord {
  std::string layers;  // "conv1 to relu1"
  std::int64_t parameters = 0;
  double busy = 0, waiting = 0;  // shares of the training's time, 0..1
  double staleness = 0;          // in updates, mean over the steps
  int weight_versions = 0;       // the most at any time
  std::size_t memory_bytes = 0, predicted_bytes = 0, validation_bytes = 0;
  std::vector<std::pair<std::string, std::size_t>> uses;  // the predicted bytes: "weights", ...
};

struct RunRecord {
  std::filesystem::path folder;
  std::string name = {};  // of the folder
  std::string model = {}, schedule = {};
  std::int64_t parameters = 0, microbatches = 0, total_steps = 0, steps_per_epoch = 0;
  std::vector<StageRecord> stages = {};
  std::vector<StepPoint> steps = {};
  std::vector<ValidationPoint> validations = {};
  std::vector<StabilityPoint> stability = {};
  double bubble = 0;   // share of the time of all workers, mean over the training
  double step_ms = 0;  // median
  std::optional<double> predicted_step_ms = {};
  std::string ended = {};  // "finished", "stopped by SIGTERM", "failed: ..."; empty: unknown
  bool learnt = true;      // false: it failed, or its end warned of its loss
  std::vector<std::string> warnings = {};  // the run's, and about files not fully read
  std::vector<std::string> moves = {};     // of the cut, one sentence each
  std::vector<std::pair<std::string, std::string>> environment = {};  // build.json
  std::string config = {};                                            // config.resolved.toml
};

// UsageError if the folder is not a run directory, DataError if its metrics cannot be read. A torn
// last line, and other files that are missing or damaged, become warnings in the record.
RunRecord read_run(const std::filesystem::path& folder);

}  // namespace pipetrain
