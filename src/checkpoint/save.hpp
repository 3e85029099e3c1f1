// Commits a checkpoint: everything is written and flushed under another name first; one rename
// makes it a checkpoint. Several processes may write the stages, one commits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/state.hpp"

namespace pipetrain {

struct StageFile {
  int stage = 0;
  CheckpointFile file;
};

// What other processes add to a checkpoint.
struct OtherStages {
  std::vector<StageFile> written;       // by them: on the disk
  std::vector<StageTensors> unwritten;  // by number: left to this process
};
struct OtherWriters {
  std::function<void(const std::filesystem::path& folder)> begin;  // it is there for them to write
  std::function<OtherStages()> finish;  // waits until they have; leaves no file that is not theirs
};

struct Snapshot {
  Manifest manifest;                 // its `files` are filled in here
  std::vector<StageTensors> stages;  // by number; without layers: another process's
  std::string config;                // the resolved config, as TOML
  std::string model;                 // the model file's text; empty where the config has the layers
  std::string program = {};          // the program's text, where the order is the user's own
  std::optional<OtherWriters> others = {};
};

constexpr const char* kConfigFile = "config.resolved.toml";
constexpr const char* kModelFile = "model.toml";
constexpr const char* kProgramFile = "program.txt";
constexpr const char* kManifestFile = "manifest.json";

// Writes the stages that have layers to files in `folder`, each flushed to the disk. DeviceError.
std::vector<StageFile> write_stages(const std::filesystem::path& folder,
                                    const std::vector<StageTensors>& stages);

// Writes `checkpoints`/step-..., replacing one of the same step. Returns the bytes written.
// DeviceError; then no checkpoint was changed.
std::uint64_t save_checkpoint(const std::filesystem::path& checkpoints, Snapshot snapshot);

}  // namespace pipetrain
