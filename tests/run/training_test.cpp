// One training from its beginning to its end: what it reports, when it validates and saves, and
// what ends it earlier.
#include "run/training.hpp"

#include <algorithm>
#include <csignal>
#include <limits>

#include "base/error.hpp"
#include "catch.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/load.hpp"
#include "run/run_rig.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

using Steps = std::vector<std::int64_t>;

// The state of a checkpoint in place of the first weights.
Progress resume(RunRig& rig, const std::filesystem::path& folder) {
  const Checkpoint checkpoint = read_checkpoint(folder);
  rig.pipeline().set_state(match_tensors(
      checkpoint.tensors, expected_state(rig.graph(), rig.config()), folder.string(), rig.graph()));
  return checkpoint.manifest.progress;
}

}  // namespace

TEST_CASE("a training reports its steps in order and ends when its length says", "[training]") {
  RunRig rig;
  Training training(rig.input());
  training.run();
  CHECK(rig.steps_of("step") == Steps{1, 2, 3, 4});
  CHECK(training.progress().step == 4);
  CHECK(training.stop_signal() == 0);
  const auto end = training.end_event();
  CHECK(end["step"] == 4);
  CHECK(end["loss"] == rig.events("step").back()["loss"]);
  CHECK_FALSE(end.contains("stopped_by"));
  CHECK_FALSE(end.contains("validation"));
}

TEST_CASE("its start says what is trained", "[training]") {
  RunRig rig;
  const auto start = Training(rig.input(progress_at(3))).start_event();
  CHECK(start["step"] == 3);
  CHECK(start["model"] == "small");
  CHECK(start["parameters"] == 6 * 8 + 8 + 8 * 3 + 3);
  CHECK(start["stages"] == 2);
  CHECK(start["steps"] == 4);
  CHECK(start["steps_per_epoch"] == 4);
}

TEST_CASE("a training validates when it was asked to, and at its end", "[training]") {
  RunRig rig({"training.steps=5", "validation.every_steps=2", "validation.before_first_step=true"});
  Training training(rig.input());
  training.run();
  CHECK(rig.steps_of("validation") == Steps{0, 2, 4, 5});
  REQUIRE(training.progress().last);
  CHECK(training.progress().last->step == 5);
  CHECK(training.progress().last->epoch == 2);
  CHECK(training.end_event()["validation"]["loss"] == rig.events("validation").back()["loss"]);
}

TEST_CASE("a training ends early if validation makes no progress", "[training]") {
  RunRig rig({"optimizer.lr=0", "training.steps=20", "validation.every_steps=3",
              "validation.early_stopping=2"});
  Training training(rig.input());
  training.run();
  CHECK(training.progress().step == 9);  // the first is the best, two more are no better
  CHECK(training.progress().best->step == 3);
  const auto end = training.end_event();
  CHECK(end["stopped_by"] == "early_stopping");
  CHECK(end["best_checkpoint"] == (rig.folder() / "checkpoints" / checkpoint_name(3)).string());
}

TEST_CASE("a training saves by steps, and its last state", "[training]") {
  RunRig rig({"checkpoint.every_steps=3", "training.steps=5"});
  Training(rig.input()).run();
  CHECK(committed_checkpoints(rig.folder() / "checkpoints") == Steps{3, 5});
  const auto saved = rig.events("checkpoint");
  REQUIRE(saved.size() == 2);
  CHECK(saved[0]["reason"] == "every_steps");
  CHECK(saved[1]["reason"] == "end");
}

TEST_CASE("a training that is resumed ends with the bits of one that ran through", "[training]") {
  RunRig whole({"checkpoint.every_steps=2", "optimizer.momentum=0.9"});
  Training(whole.input()).run();
  RunRig rest({"checkpoint.every_steps=2", "optimizer.momentum=0.9"});
  const Progress begin = resume(rest, whole.folder() / "checkpoints" / checkpoint_name(2));
  REQUIRE(begin.step == 2);
  Training(rest.input(begin)).run();
  CHECK(rest.steps_of("step") == Steps{3, 4});
  CHECK(same_bits(rest.pipeline().parameters(), whole.pipeline().parameters()));
}

TEST_CASE("a signal ends a training, which saves first", "[training]") {
  RunRig rig;
  Training training(rig.input());
  std::raise(SIGTERM);  // no mini-batch has begun
  training.run();
  CHECK(training.stop_signal() == SIGTERM);
  CHECK(training.progress().step == 0);
  CHECK(training.end_event()["stopped_by"] == "SIGTERM");
  CHECK(committed_checkpoints(rig.folder() / "checkpoints") == Steps{0});
  CHECK(rig.events("checkpoint").at(0)["reason"] == "signal");
}

TEST_CASE("a request to save does not end a training", "[training]") {
  RunRig rig;
  Training training(rig.input());
  std::raise(SIGUSR1);
  training.run();
  CHECK(training.progress().step == 4);
  CHECK(training.stop_signal() == 0);
  const auto saved = rig.events("checkpoint");
  REQUIRE(saved.size() == 2);
  CHECK(saved[0]["reason"] == "request");
  CHECK(saved[0]["step"] == 0);
}

TEST_CASE("under skip a loss that alone is not finite ends no training", "[training]") {
  RunRig rig({"training.on_nonfinite=skip", "model.trainable=[\"fc1.*\"]"});
  NamedTensors parameters = rig.pipeline().parameters();
  // The first class has probability 0: where it is the label, the loss is infinite, and every
  // gradient finite.
  floats(parameters, "fc2.bias")[0] = -std::numeric_limits<float>::infinity();
  rig.pipeline().set_parameters(parameters);
  Training training(rig.input());
  training.run();
  CHECK(rig.steps_of("step") == Steps{1, 2, 3, 4});
  const auto steps = rig.events("step");
  CHECK(std::ranges::any_of(steps, [](const auto& step) { return step["loss"].is_null(); }));
  for (const auto& step : steps) {
    CHECK(step["grad_norm"].is_number());
    CHECK_FALSE(step.contains("skipped"));
  }
  CHECK_FALSE(training.end_event().contains("skipped"));
}

TEST_CASE("a loss that is not finite ends a training with an error", "[training]") {
  RunRig rig({"optimizer.lr=1e30"});
  Training training(rig.input());
  try {
    training.run();
    FAIL("it ran to its end");
  } catch (const DivergedError& error) {
    CHECK_THAT(error.what(), Contains("training diverged at step"));
    const auto event = training.error_event(error);
    CHECK(event["exit_code"] == 5);
    CHECK(event["message"] == error.what());
    CHECK(event["step"] == rig.steps_of("step").back());
  }
}
