// Reads a checkpoint back, after comparing every file's size and checksum with the manifest.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "checkpoint/manifest.hpp"
#include "checkpoint/parameters.hpp"

namespace pipetrain {

struct Graph;

// DataError if it cannot be read or is not a manifest.
Manifest read_manifest(const std::filesystem::path& checkpoint);

// What is wrong with the files of a checkpoint, one sentence each; empty if it is intact.
std::vector<std::string> damages(const std::filesystem::path& checkpoint, const Manifest& manifest);

struct Checkpoint {
  std::filesystem::path folder;
  Manifest manifest;
  std::string config;   // the resolved config that it was trained with, as TOML
  std::string model;    // the model file's text; empty if the config has the layers
  std::string program;  // an order of the user's own; empty if the config names a schedule
  std::vector<StoredTensor> tensors;  // of all stages; names are unique
};

// Everything except tensors, whose files are not looked at. DataError as below.
Checkpoint read_checkpoint_texts(const std::filesystem::path& checkpoint);

// DataError lists everything that is damaged, and suggests the newest older checkpoint instead.
Checkpoint read_checkpoint(const std::filesystem::path& checkpoint);

// The weights and buffers of a checkpoint: everything except the optimizer's state.
std::vector<StoredTensor> model_tensors(Checkpoint checkpoint);

struct StoredWeights {
  std::vector<StoredTensor> tensors;
  std::filesystem::path from;  // the file or the checkpoint, for messages
};
// What `named` has: a safetensors file, a run's folder with its last weights, or anything that
// find_checkpoint() accepts. DataError.
StoredWeights read_stored_weights(const std::filesystem::path& named);

// Weights by name for this graph, from any of these. DataError lists every difference.
NamedTensors read_weights(const std::filesystem::path& named, const Graph& graph);

}  // namespace pipetrain
