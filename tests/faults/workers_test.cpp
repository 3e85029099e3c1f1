// A kernel that fails inside a worker, seen from the command line: exit 4, and the message names
// stage, instruction and micro-batch. tests/runtime fails every operation; this test follows one
// failure all the way out.
#include "catch.hpp"
#include "failing_run.hpp"
#include "places.hpp"

namespace fs = std::filesystem;

TEST_CASE("a kernel fails in a worker", "[faults]") {
  const std::string workers = GENERATE("threads", "inline");
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const fs::path model = source_tree() / "models/lenet5.toml";
  const fs::path config =
      folder.write("lenet5.toml", "model.file = \"" + model.string() + "\"\n" + R"(
[data]
kind = "glyphs"
train_samples = 64
batch_size = 16
[pipeline]
stages = 3
microbatches = 2
)");
  const std::string train = "train --quiet " + config.string() + " --output " + run.string() +
                            " --set 'hardware.workers=\"" + workers + "\"'";
  int in_workers = 0;
  for (const int n : {1, 5, 10, 15, 20}) {
    fs::remove_all(run);
    const auto [ran, fired] = run_failing(train, {.kind = "kernel", .at = n}, folder);
    INFO("kernel call " << n << ": " << ran.err);
    if (!fired) break;
    CHECK(ran.code == 4);
    CHECK_FALSE(fs::exists(run / "model.safetensors"));
    if (!has(ran.err, "stage ")) continue;  // weights are reordered before any worker starts
    ++in_workers;
    CHECK(has(ran.err, "instruction "));
    CHECK(has(ran.err, "micro-batch "));
    const auto last = events_of(run).back();
    CHECK(last["event"] == "error");
    CHECK(has(ran.err, last["message"]));
  }
  CHECK(in_workers >= 2);
}
