// Commits a checkpoint: everything is written and flushed under another name first; one rename
// makes it a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/state.hpp"

namespace pipetrain {

struct Snapshot {
  Manifest manifest;  // its `files` are filled in here
  std::vector<StageTensors> stages;
  std::string config;        // the resolved config, as TOML
  std::string model;         // the model file's text; empty where the config has the layers
  std::string program = {};  // the program's text, where the order is the user's own
};

constexpr const char* kConfigFile = "config.resolved.toml";
constexpr const char* kModelFile = "model.toml";
constexpr const char* kProgramFile = "program.txt";
constexpr const char* kManifestFile = "manifest.json";

// Writes `checkpoints`/step-..., replacing one of the same step. Returns the bytes written.
// DeviceError; then no checkpoint was changed.
std::uint64_t save_checkpoint(const std::filesystem::path& checkpoints, Snapshot snapshot);

}  // namespace pipetrain
