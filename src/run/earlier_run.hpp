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

// Ends a message that says why a run cannot continue.
inline constexpr std::string_view kWaysOut =
    "write elsewhere with --output DIR, or replace it with --resume never";

struct EarlierRun {
  std::optional<Checkpoint> checkpoint;  // to resume from, without its tensors; none: start over
  bool finished = false;                 // its model.safetensors was written
  bool same_length = false;              // training.epochs and training.steps have not changed
  std::optional<std::int64_t> anneal_steps;  // PipeMare's, in the run that continues
  TrainingConfig training = {};              // of the run that continues
};

// Follows --resume. "auto": the folder's newest checkpoint; "never": none; otherwise the one named.
// UsageError names the keys in which the earlier run's config differs, except those that change
// nothing that is computed, or only how long it trains; and says what to do. DataError if the
// checkpoint does not exist or its texts are damaged.
EarlierRun earlier_run(const std::filesystem::path& folder, const Options& options,
                       const Config& config);

// The config file that a start with this --resume continues; nothing if it starts over.
std::optional<std::filesystem::path> kept_config(const std::filesystem::path& folder,
                                                 const std::string& resume);

// UsageError if the requested training ends before the checkpoint.
void check_length(const Checkpoint& checkpoint, std::int64_t steps);

// UsageError if the checkpoint was made under another order of the user's own, or in the middle of
// this one.
void check_order(const Checkpoint& checkpoint, const Config& config, const Program& program);

// UsageError lists every layer in which the model differs from the checkpoint's: a model file may
// have changed under the same name.
void check_model(const Checkpoint& checkpoint, const Graph& graph);

// The "end" event of a finished run, without its name; empty if metrics.jsonl has none.
nlohmann::ordered_json end_of_run(const std::filesystem::path& folder);

}  // namespace pipetrain
