// What a start of the same command finds in the folder of the run, and what it refuses.
#include "run/earlier_run.hpp"

#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "catch.hpp"
#include "checkpoint/atomic_file.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/save.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/run_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// A run of 4 steps with checkpoints at 2 and 4.
struct RunBefore {
  RunBefore() : rig({"checkpoint.every_steps=2"}) {
    rig.keep_config();
    Training(rig.input()).run();
  }
  EarlierRun found(const Config& config, const std::string& resume = "auto") const {
    Options options;
    options.resume = resume;
    return earlier_run(rig.folder(), options, config);
  }
  Checkpoint newest() const { return found(rig.config()).checkpoint.value(); }
  RunRig rig;
};

}  // namespace

TEST_CASE("an empty folder holds no earlier run", "[earlier run]") {
  const Scratch scratch;
  const EarlierRun earlier = earlier_run(scratch.path, {}, {});
  CHECK_FALSE(earlier.checkpoint);
  CHECK_FALSE(earlier.finished);
  CHECK_FALSE(kept_config(scratch.path, "auto"));
}

TEST_CASE("an earlier run is resumed from its newest checkpoint, or the one that is named",
          "[earlier run]") {
  const RunBefore before;
  const auto checkpoints = before.rig.folder() / "checkpoints";
  const Config& same = before.rig.config();
  CHECK(before.found(same).checkpoint->manifest.progress.step == 4);
  CHECK(before.found(same, (checkpoints / checkpoint_name(2)).string())
            .checkpoint->manifest.progress.step == 2);
  CHECK_FALSE(before.found(same, "never").checkpoint);
  CHECK_FALSE(before.found(same).finished);  // there are no final weights
  CHECK(kept_config(before.rig.folder(), "auto") == before.rig.folder() / kConfigFile);
  CHECK(kept_config(before.rig.folder(), (checkpoints / "latest").string()) ==
        checkpoints / checkpoint_name(4) / kConfigFile);
}

TEST_CASE("an earlier run of another config is refused with the keys and the ways out",
          "[earlier run]") {
  const RunBefore before;
  Config other = before.rig.config();
  other.optimizer.lr = 0.5;
  CHECK_THROWS_WITH(before.found(other), Contains("optimizer.lr") && Contains("--resume never"));
  CHECK_FALSE(before.found(other, "never").checkpoint);
  Config faster = before.rig.config();
  faster.hardware.threads_per_stage = 2;  // does not change what is computed
  CHECK(before.found(faster).checkpoint);
}

TEST_CASE("an earlier run may be made longer while it has a checkpoint", "[earlier run]") {
  RunBefore before;
  before.rig.finish();
  CHECK(before.found(before.rig.config()).finished);
  CHECK(before.found(before.rig.config()).same_length);
  Config longer = before.rig.config();
  longer.training.steps = 8;
  CHECK_FALSE(before.found(longer).same_length);
  CHECK_NOTHROW(check_length(before.newest(), 4));
  CHECK_THROWS_WITH(check_length(before.newest(), 3),
                    Contains("4 steps are trained already, but the config asks for 3"));
  for (const std::int64_t step : {2, 4})
    remove_checkpoint(before.rig.folder() / "checkpoints", step);
  CHECK_THROWS_WITH(before.found(longer),
                    Contains("finished run of another length, and no checkpoint"));
}

TEST_CASE("a model that has changed since is refused layer by layer", "[earlier run]") {
  const RunBefore before;
  const Checkpoint checkpoint = before.newest();
  CHECK_NOTHROW(check_model(checkpoint, before.rig.graph()));
  const Graph other = read_model_text(R"(
name = "small"
input = { shape = [6] }
layers = [
  { name = "fc1", kind = "linear", out_features = 9 },
  { name = "relu", kind = "relu" },
]
)",
                                      "other");
  CHECK_THROWS_WITH(
      check_model(checkpoint, other),
      Contains("linear 'fc1' [9] was linear 'fc1' [8]") && Contains("linear 'fc2' [3] is gone"));
}

TEST_CASE("the last end event of a run is its end", "[earlier run]") {
  const Scratch scratch;
  CHECK(end_of_run(scratch.path).empty());
  write_file(scratch.path / "metrics.jsonl",
             "{\"event\":\"end\",\"step\":2}\n{\"event\":\"step\",\"step\":3}\n"
             "{\"event\":\"end\",\"step\":4}\n{\"event\":\"en");
  CHECK(end_of_run(scratch.path) == nlohmann::ordered_json{{"step", 4}});
}
