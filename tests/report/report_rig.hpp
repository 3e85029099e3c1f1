// Run directories as `train` leaves them, written line by line.
#pragma once

#include <filesystem>
#include <string>

namespace pipetrain::testing {

struct WrittenRun {
  double accuracy_step = 0.1;  // what each validation adds to 0.5
  double step_seconds = 0.5;
  std::string schedule = "1f1b";
  int epochs = 3;         // of two steps each, a validation after each
  double perplexity = 0;  // of the first validation, the k-th has a k-th of it; 0: none
  double bleu_step = 0;   // what each validation adds to a BLEU of 0; 0: none
};

// metrics.jsonl, plan.json, build.json and config.resolved.toml of two stages, the first one
// busier.
void write_run(const std::filesystem::path& folder, const WrittenRun& run = {});

}  // namespace pipetrain::testing
