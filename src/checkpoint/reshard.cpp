#include "checkpoint/reshard.hpp"

#include <spdlog/fmt/fmt.h>

#include <cstring>
#include <map>
#include <numeric>

#include "base/counted.hpp"
#include "base/error.hpp"
#include "graph/graph.hpp"

namespace pipetrain {
namespace {

// The layers in the model's order.
std::vector<std::string> layers_of(const Manifest& manifest) {
  std::vector<std::string> layers;
  for (const CheckpointFile& file : manifest.files)
    layers.insert(layers.end(), file.layers.begin(), file.layers.end());
  return layers;
}

// "block.0.conv.weight/exp_avg" belongs to block.0.conv.
std::string layer_of(const std::string& tensor) {
  return tensor.substr(0, tensor.rfind('.', tensor.find('/')));
}

NamedTensor named(const StoredTensor& stored) {
  const bool counts = stored.dtype == "I64";
  NamedTensor tensor{Shape{stored.shape}, {}};
  const auto fill = [&](auto values) {
    values.resize(stored.data.size() / sizeof(values[0]));
    std::memcpy(values.data(), stored.data.data(), stored.data.size());
    tensor.values = std::move(values);
  };
  if (counts)
    fill(std::vector<std::int64_t>{});
  else
    fill(std::vector<float>{});
  return tensor;
}

}  // namespace

Snapshot resharded(Checkpoint checkpoint, int parts) {
  const std::vector<std::string> layers = layers_of(checkpoint.manifest);
  if (parts > static_cast<int>(layers.size()))
    throw UsageError(fmt::format("{}: has {}, too few for {} parts; write --stages {} or less",
                                 checkpoint.folder.string(), counted(std::ssize(layers), "layer"),
                                 parts, layers.size()));
  std::map<std::string, std::vector<const StoredTensor*>> tensors;  // by layer
  std::map<std::string, std::size_t> bytes;
  for (const StoredTensor& tensor : checkpoint.tensors) {
    tensors[layer_of(tensor.name)].push_back(&tensor);
    bytes[layer_of(tensor.name)] += tensor.data.size();
  }
  const auto all = std::accumulate(bytes.begin(), bytes.end(), std::size_t{1},
                                   [](std::size_t sum, const auto& b) { return sum + b.second; });
  Snapshot snapshot;
  snapshot.manifest = checkpoint.manifest;
  snapshot.manifest.files.clear();
  snapshot.config = checkpoint.config;
  snapshot.model = checkpoint.model;
  snapshot.program = checkpoint.program;
  snapshot.stages.resize(parts);
  std::size_t part = 0, done = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::size_t parts_left = snapshot.stages.size() - part - 1;
    const bool full = done * snapshot.stages.size() >= (part + 1) * all;
    const bool needed = layers.size() - l <= parts_left;  // the remaining parts need one layer each
    if (parts_left > 0 && !snapshot.stages[part].layers.empty() && (full || needed)) ++part;
    StageTensors& stage = snapshot.stages[part];
    stage.layers.push_back(layers[l]);
    for (const StoredTensor* tensor : tensors[layers[l]])
      stage.tensors[tensor->name] = named(*tensor);
    done += bytes[layers[l]];
  }
  return snapshot;
}

}  // namespace pipetrain
