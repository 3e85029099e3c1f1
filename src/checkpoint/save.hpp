// Commits a checkpoint: everything is first written and flushed under another name; one rename
// makes it a checkpoint. Several processes may write stages; one of them commits.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/state.hpp"
#include "config/read.hpp"

namespace pipetrain {

struct StageFile {
  int stage = 0;
  CheckpointFile file;
};

// What other processes contribute to a checkpoint.
struct OtherStages {
  std::vector<StageFile> written;       // by them, and on disk
  std::vector<StageTensors> unwritten;  // indexed by stage: left to this process
};
struct OtherWriters {
  std::function<void(const std::filesystem::path& folder)> begin;  // the folder is ready
  std::function<OtherStages()> finish;  // waits for them; leaves no other files in the folder
};

struct Snapshot {
  Manifest manifest;                 // save_checkpoint() fills in `files`
  std::vector<StageTensors> stages;  // indexed by stage; one without layers is another process's
  std::string config;                // the resolved config, as TOML
  std::string model;                 // the model file's text; empty if the config has the layers
  std::string program = {};          // the program's text, if the order is the user's own
  std::optional<OtherWriters> others = {};
};

constexpr const char* kModelFile = "model.toml";
constexpr const char* kProgramFile = "program.txt";
constexpr const char* kManifestFile = "manifest.json";

// Writes the stages that have layers to files in `folder`, and flushes each to the disk.
// DeviceError.
std::vector<StageFile> write_stages(const std::filesystem::path& folder,
                                    const std::vector<StageTensors>& stages);

// Writes `checkpoints`/step-..., replacing one of the same step. Returns the bytes written. On
// DeviceError no checkpoint has changed.
std::uint64_t save_checkpoint(const std::filesystem::path& checkpoints, Snapshot snapshot);

}  // namespace pipetrain
