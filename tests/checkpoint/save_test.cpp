// Saving, reading back, resharding, and saving in the background.
#include "checkpoint/save.hpp"

#include <algorithm>
#include <fstream>

#include "base/error.hpp"
#include "catch.hpp"
#include "checkpoint/background.hpp"
#include "checkpoint/load.hpp"
#include "checkpoint/reshard.hpp"
#include "graph/graph.hpp"
#include "scratch.hpp"

using namespace pipetrain;
namespace fs = std::filesystem;

namespace {

Snapshot snapshot_at(std::int64_t step) {
  Snapshot snapshot;
  snapshot.manifest.model = "toy";
  snapshot.manifest.progress.step = step;
  snapshot.config = "[data]\nbatch_size = 4\n";
  const auto weights = [&](float value) {
    return NamedTensor{Shape{{2, 3}}, std::vector<float>(6, value)};
  };
  snapshot.stages.push_back({{"fc1", "relu"}, {{"fc1.weight", weights(1)}}});
  snapshot.stages.push_back({{"a.bn", "fc2"},
                             {{"a.bn.num_batches_tracked", {Shape{}, std::vector<std::int64_t>{7}}},
                              {"fc2.weight", weights(static_cast<float>(step))},
                              {"fc2.weight/momentum_buffer", weights(3)}}});
  return snapshot;
}

std::vector<std::string> names_of(const std::vector<StoredTensor>& tensors) {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  return names;
}

std::string folder_refusal(const fs::path& folder) {
  try {
    read_checkpoint(folder);
  } catch (const DataError& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("a checkpoint reads back, weights apart from the optimizer's") {
  const Scratch scratch;
  const std::uint64_t bytes = save_checkpoint(scratch.path / "checkpoints", snapshot_at(12));
  const fs::path folder = scratch.path / "checkpoints/step-00000012";
  std::uint64_t on_disk = 0;
  for (const auto& entry : fs::directory_iterator(folder)) on_disk += entry.file_size();
  CHECK(bytes == on_disk);
  const Checkpoint read = read_checkpoint(folder);
  CHECK(read.manifest.progress.step == 12);
  CHECK(read.manifest.files[1].layers == std::vector<std::string>{"a.bn", "fc2"});
  CHECK(read.config == snapshot_at(12).config);
  CHECK(names_of(read.tensors) == std::vector<std::string>{"a.bn.num_batches_tracked", "fc1.weight",
                                                           "fc2.weight",
                                                           "fc2.weight/momentum_buffer"});
  CHECK(model_tensors(read).size() == 3);
  // Saving the same step again replaces it.
  save_checkpoint(scratch.path / "checkpoints", snapshot_at(12));
  CHECK(read_checkpoint(folder).tensors.size() == 4);
  CHECK(committed_checkpoints(scratch.path / "checkpoints") == std::vector<std::int64_t>{12});
}

TEST_CASE("every kind of damage is named, with a way out") {
  const Scratch scratch;
  save_checkpoint(scratch.path, snapshot_at(5));
  save_checkpoint(scratch.path, snapshot_at(9));
  const fs::path folder = scratch.path / "step-00000009";
  fs::resize_file(folder / "stage-0000.safetensors", 20);
  fs::remove(folder / "config.resolved.toml");
  {
    std::fstream flip(folder / "stage-0001.safetensors", std::ios::in | std::ios::out);
    flip.seekp(-1, std::ios::end);
    flip.put('x');
  }
  const std::string message = folder_refusal(folder);
  for (const char* part :
       {"stage-0000.safetensors: it has 20 bytes instead of",
        "stage-0001.safetensors: its checksum", "config.resolved.toml: No such", "--resume"})
    CHECK(message.find(part) != std::string::npos);
  CHECK(message.find((scratch.path / "step-00000005").string()) != std::string::npos);
  fs::remove(folder / "manifest.json");
  CHECK(folder_refusal(folder).find("manifest.json") != std::string::npos);
}

TEST_CASE("resharding moves whole layers and loses nothing") {
  const Scratch scratch;
  Snapshot saved = snapshot_at(5);
  saved.program = "the text of an order";
  save_checkpoint(scratch.path, saved);
  const Checkpoint read = read_checkpoint(scratch.path / "step-00000005");
  for (const int parts : {1, 2, 3, 4}) {
    const Snapshot other = resharded(read, parts);
    CHECK(other.program == saved.program);
    REQUIRE(other.stages.size() == static_cast<std::size_t>(parts));
    std::vector<std::string> layers;
    for (const StageTensors& stage : other.stages) {
      CHECK_FALSE(stage.layers.empty());
      layers.insert(layers.end(), stage.layers.begin(), stage.layers.end());
    }
    CHECK(layers == std::vector<std::string>{"fc1", "relu", "a.bn", "fc2"});
    save_checkpoint(scratch.path / "other", other);
    CHECK(names_of(read_checkpoint(scratch.path / "other/step-00000005").tensors) ==
          names_of(read.tensors));
  }
  CHECK_THROWS_AS(resharded(read, 5), UsageError);
}

TEST_CASE("saves in the background come in order, are pruned, and report a failing disk") {
  const Scratch scratch;
  int flushed = 0;
  {
    BackgroundSaver saver({.checkpoints = scratch.path / "checkpoints",
                           .keep_latest = 2,
                           .keep_best = true,
                           .before_commit = [&] { ++flushed; }});
    for (const std::int64_t step : {1, 2, 3, 4}) {
      Snapshot snapshot = snapshot_at(step);
      snapshot.manifest.progress.best = ValidationResult{1, 1, 0.5, {}};
      saver.save(std::move(snapshot));
    }
    saver.wait();
    for (const std::int64_t step : {1, 2, 3, 4}) CHECK(saver.committed().value().step == step);
    CHECK_FALSE(saver.committed());
  }
  CHECK(flushed == 4);
  CHECK(committed_checkpoints(scratch.path / "checkpoints") == std::vector<std::int64_t>{1, 3, 4});
  CHECK(find_checkpoint(scratch.path / "checkpoints/best").filename() == "step-00000001");

  std::ofstream(scratch.path / "file") << "in the way";
  BackgroundSaver saver({.checkpoints = scratch.path / "file", .before_commit = {}});
  saver.save(snapshot_at(1));
  CHECK_THROWS_AS(saver.wait(), DeviceError);
  CHECK_THROWS_AS(saver.committed(), DeviceError);
  CHECK_THROWS_AS(saver.save(snapshot_at(2)), DeviceError);
}
