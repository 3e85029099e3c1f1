// The folder that holds one run and everything that replays it.
#pragma once

#include <filesystem>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "app/options.hpp"
#include "config/config.hpp"

namespace pipetrain {

// --output, or runs/<config name>.
std::filesystem::path run_directory(const Options& options, const Config& config);

enum class Earlier { Nothing, Finished };  // what an earlier run of the same command left

// May this command write here? UsageError names the keys in which an earlier run's config differs,
// and the ways out. A run that was cut short left no checkpoint: it begins anew. A finished one is
// never replaced unless --resume never says so.
Earlier check_earlier_run(const std::filesystem::path& folder, const Options& options,
                          const Config& config);

// The "end" event of a finished run, less its name; empty where metrics.jsonl has none.
nlohmann::ordered_json end_of_run(const std::filesystem::path& folder);

// DeviceError with the file and the system's reason.
void make_folder(const std::filesystem::path& folder);
void remove_file(const std::filesystem::path& file);

}  // namespace pipetrain
