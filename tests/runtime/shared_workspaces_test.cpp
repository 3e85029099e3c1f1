// Stages that one thread runs use one workspace (compile/shared_workspaces.hpp).
#include <algorithm>
#include <vector>

#include "catch.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

Trained trained(const ConfigChoice& choice, const char* model = residual_model) {
  return train({.model = model, .config = make_config(choice), .evaluate = true});
}

std::vector<std::size_t> workspaces(const std::vector<HeldMemory>& stages,
                                    MemoryAccount HeldMemory::*mode) {
  std::vector<std::size_t> bytes;
  for (const HeldMemory& stage : stages) bytes.push_back((stage.*mode)[Use::Workspace]);
  return bytes;
}

}  // namespace

TEST_CASE("stages on one thread use the workspace of the one that needs most",
          "[shared workspaces]") {
  const Trained apart = trained({.stages = 4}),
                together = trained({.stages = 4, .workers = "inline"});
  for (const auto mode : {&HeldMemory::training, &HeldMemory::validation}) {
    const std::vector<std::size_t> own = workspaces(apart.measured, mode);
    const auto most = std::ranges::max_element(own);
    REQUIRE(std::ranges::count_if(own, [](std::size_t bytes) { return bytes > 0; }) > 1);
    std::vector<std::size_t> expected(own.size(), 0);
    expected[static_cast<std::size_t>(most - own.begin())] = *most;
    CHECK(workspaces(together.measured, mode) == expected);
    CHECK(workspaces(together.predicted, mode) == expected);
  }
  CHECK(same_bits(together.parameters, apart.parameters));
}

TEST_CASE("a worker's stages share its workspace, workers share nothing", "[shared workspaces]") {
  const auto chunks = [](const std::string& workers) {
    Config config = make_config({.stages = 2, .schedule = "interleaved_1f1b", .workers = workers});
    config.pipeline.virtual_stages = 2;
    return train({.model = residual_model, .config = config});
  };
  const Trained threads = chunks("threads");
  const std::vector<std::size_t> bytes = workspaces(threads.measured, &HeldMemory::training);
  REQUIRE(bytes.size() == 4);
  for (const std::size_t worker : {0, 1}) {
    CHECK(std::max(bytes[worker], bytes[worker + 2]) > 0);
    CHECK(std::min(bytes[worker], bytes[worker + 2]) == 0);
  }
  CHECK(threads.measured == threads.predicted);
  CHECK(same_bits(threads.parameters, chunks("inline").parameters));
}

// A head leaves gradients in the workspace for its tail, and in a validation images are loaded into
// it: other stages of the thread must not come in between.
TEST_CASE("what a pass leaves in the workspace is there when it continues", "[shared workspaces]") {
  for (const std::string schedule : {"chimera", "1f1b", "pipedream"})
    for (const std::string backend : {"reference", "cpu"}) {
      ConfigChoice choice{.stages = 4, .schedule = schedule, .backend = backend};
      const Trained threads = trained(choice);
      choice.workers = "inline";
      const Trained together = trained(choice);
      INFO(schedule << " on " << backend);
      CHECK(same_bits(together.parameters, threads.parameters));
      CHECK(together.losses == threads.losses);
      CHECK(together.before.loss == threads.before.loss);
      CHECK(together.after.loss == threads.after.loss);
    }
}
