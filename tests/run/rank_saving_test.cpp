// Checkpoints that two ranks write together, over a wire within this process.
#include "run/rank_saving.hpp"

#include <fstream>

#include "base/error.hpp"
#include "catch.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/load.hpp"
#include "checkpoint/scratch.hpp"
#include "graph/graph.hpp"
#include "transport/fake_wire.hpp"

using namespace pipetrain;
using testing::FakeNetwork;
namespace fs = std::filesystem;

namespace {

StageTensors stage_of(const std::string& layer) {
  return {{layer}, {{layer + ".weight", {Shape{{2, 2}}, std::vector<float>(4, 0.5f)}}}};
}

// Rank 0 has stages 0 and 2, rank 1 stage 1.
struct TwoSavers {
  const Scratch scratch;
  FakeNetwork network{2};
  Job leader{network.wire(0)}, other{network.wire(1)};
  RankWriters writers{leader, {1}};
  StageSaver saver{other};

  Snapshot snapshot(std::int64_t step) {
    Snapshot snapshot;
    snapshot.manifest.model = "toy";
    snapshot.manifest.progress.step = step;
    snapshot.config = "[data]\nbatch_size = 4\n";
    snapshot.stages = {stage_of("fc0"), {}, stage_of("fc2")};
    snapshot.others = {.begin = [this](const fs::path& folder) { writers.begin(folder); },
                       .finish = [this] { return writers.finish(); }};
    return snapshot;
  }
  static std::vector<StageTensors> theirs() { return {{}, stage_of("fc1"), {}}; }
};

std::vector<std::string> layers_in(const fs::path& checkpoint) {
  std::vector<std::string> layers;
  for (const CheckpointFile& file : read_checkpoint(checkpoint).manifest.files)
    layers.insert(layers.end(), file.layers.begin(), file.layers.end());
  return layers;
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

const std::vector<std::string> all_layers = {"fc0", "fc1", "fc2"};
constexpr std::size_t all_files = 5;  // with the config and the manifest

}  // namespace

TEST_CASE("each rank writes its own stages, in one save after another", "[saving]") {
  TwoSavers two;
  for (const std::int64_t step : {3, 4}) {
    two.saver.save(TwoSavers::theirs());
    save_checkpoint(two.scratch.path, two.snapshot(step));
    const fs::path folder = two.scratch.path / checkpoint_name(step);
    CHECK(layers_in(folder) == all_layers);
    CHECK(files_in(folder) == all_files);
  }
}

TEST_CASE("rank 0 writes the stages of a rank that has another disk", "[saving]") {
  TwoSavers two;
  Snapshot snapshot = two.snapshot(3);
  snapshot.others->begin = [&](const fs::path& folder) {
    two.writers.begin(folder);
    std::ofstream(folder / "mark") << "of another job";
    two.saver.save(TwoSavers::theirs());
  };
  save_checkpoint(two.scratch.path, snapshot);
  const fs::path folder = two.scratch.path / checkpoint_name(3);
  CHECK(layers_in(folder) == all_layers);
  CHECK(files_in(folder) == all_files);
}

TEST_CASE("a rank whose disk fails is named, and no checkpoint is made", "[saving]") {
  TwoSavers two;
  two.saver.save(TwoSavers::theirs());
  save_checkpoint(two.scratch.path, two.snapshot(3));
  Snapshot snapshot = two.snapshot(4);
  snapshot.others->begin = [&](const fs::path& folder) {
    fs::create_directory(folder / "stage-0001.safetensors");
    two.writers.begin(folder);
    two.saver.save(TwoSavers::theirs());
  };
  std::string message;
  try {
    save_checkpoint(two.scratch.path, snapshot);
  } catch (const Error& error) {
    CHECK(error.code() == ExitCode::Device);
    message = error.what();
  }
  CHECK(contains(message, "rank 1: "));
  CHECK(contains(message, "stage-0001.safetensors"));
  CHECK(committed_checkpoints(two.scratch.path) == std::vector<std::int64_t>{3});
  CHECK(layers_in(two.scratch.path / checkpoint_name(3)) == all_layers);
}
