// What an earlier start of the same command left in the run's folder, and whether to resume from
// it.
#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "checkpoint/load.hpp"
#include "config/config.hpp"
#include "run/options.hpp"

namespace pipetrain {

struct Graph;

// After what keeps a run from continuing.
inline constexpr std::string_view kWaysOut =
    "write elsewhere with --output DIR, or replace it with --resume never";

struct EarlierRun {
  std::optional<Checkpoint> checkpoint;  // to resume from, without its tensors; none: start over
  bool finished = false;                 // it has written its model.safetensors
  bool same_length = false;              // training.epochs and training.steps are what they were
  std::optional<std::int64_t> anneal_steps;  // PipeMare's, of the run that continues
};

// By --resume. "auto": the newest checkpoint of the folder; "never": none; else the one that is
// named. UsageError names the keys in which the config of the earlier run differs, but for those
// that change nothing of what is computed or only how long; and the ways out. DataError where the
// checkpoint is not there or its texts are damaged.
EarlierRun earlier_run(const std::filesystem::path& folder, const Options& options,
                       const Config& config);

// The file of the config that a start with this --resume continues; nothing if it starts over.
std::optional<std::filesystem::path> kept_config(const std::filesystem::path& folder,
                                                 const std::string& resume);

// UsageError where the training asked for ends before the checkpoint.
void check_length(const Checkpoint& checkpoint, std::int64_t steps);

// UsageError where the checkpoint was made under another order of the user's own, or in the middle
// of this one.
void check_order(const Checkpoint& checkpoint, const Config& config, const Program& program);

// UsageError lists every layer in which the model is not that of the checkpoint: a model file may
// change behind its name.
void check_model(const Checkpoint& checkpoint, const Graph& graph);

// The "end" event of a finished run, less its name; empty where metrics.jsonl has none.
nlohmann::ordered_json end_of_run(const std::filesystem::path& folder);

}  // namespace pipetrain
