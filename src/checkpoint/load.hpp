// Reads a checkpoint back, after every file's size and checksum were compared with the manifest.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/parameters.hpp"

namespace pipetrain {

struct Graph;

// DataError where it cannot be read or is no manifest.
Manifest read_manifest(const std::filesystem::path& checkpoint);

// What is wrong with the files of a checkpoint, one sentence each; empty where it is whole.
std::vector<std::string> damages(const std::filesystem::path& checkpoint, const Manifest& manifest);

struct Checkpoint {
  std::filesystem::path folder;
  Manifest manifest;
  std::string config;   // the resolved config that it was trained with, as TOML
  std::string model;    // the model file's text; empty where the config has the layers
  std::string program;  // an order of the user's own; empty where the config names a schedule
  std::vector<StoredTensor> tensors;  // of all stages, each name once
};

// All but its tensors, whose files are not looked at. DataError as below.
Checkpoint read_checkpoint_texts(const std::filesystem::path& checkpoint);

// DataError lists everything that is damaged, and names the newest older checkpoint as a way out.
Checkpoint read_checkpoint(const std::filesystem::path& checkpoint);

// The weights and buffers of a checkpoint: all but what the optimizer remembers.
std::vector<StoredTensor> model_tensors(Checkpoint checkpoint);

// Weights by name for this graph, from a safetensors file, or from whatever find_checkpoint()
// takes. DataError lists every difference.
NamedTensors read_weights(const std::filesystem::path& named, const Graph& graph);

}  // namespace pipetrain
