// When a run saves, and what the checkpoint and metrics.jsonl then hold.
#include "run/saving.hpp"

#include "catch.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/load.hpp"
#include "run/run_rig.hpp"
#include "runtime/training.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

SavingInput saving_of(RunRig& rig) {
  return {.config = rig.config(),
          .graph = rig.graph(),
          .pipeline = rig.pipeline(),
          .metrics = rig.metrics(),
          .run = rig.folder(),
          .data = rig.sums(),
          .steps_per_epoch = rig.length().steps_per_epoch};
}

}  // namespace

TEST_CASE("which key asks for a checkpoint", "[saving]") {
  RunRig steps({"checkpoint.every_steps=3"}), epochs({"checkpoint.every_epochs=2"}), none;
  const Saving by_steps(saving_of(steps)), by_epochs(saving_of(epochs)), never(saving_of(none));
  CHECK(by_steps.due(6) == "every_steps");
  CHECK_FALSE(by_steps.due(7));
  CHECK(by_epochs.due(16) == "every_epochs");  // an epoch has four steps
  CHECK_FALSE(by_epochs.due(4));
  CHECK_FALSE(never.due(12));
}

TEST_CASE("every_minutes is never due if it was not asked for", "[saving]") {
  RunRig rig;
  CHECK_FALSE(Saving(saving_of(rig)).minutes_are_over());
  RunRig soon({"checkpoint.every_minutes=1e-12"});
  CHECK(Saving(saving_of(soon)).minutes_are_over());
}

TEST_CASE("a checkpoint has all that resuming a training needs", "[saving]") {
  RunRig rig;
  Saving saving(saving_of(rig));
  Progress progress = progress_at(6);
  progress.skipped = 1;
  progress.seconds = 2.5;
  saving.save(progress, "request");
  saving.finish();
  const Checkpoint saved =
      read_checkpoint(rig.folder() / "checkpoints" / checkpoint_name(progress.step));
  CHECK(saved.manifest.progress == progress);
  CHECK(saved.manifest.epoch == 2);
  CHECK(saved.manifest.model == "small");
  CHECK(saved.manifest.data == rig.sums());
  CHECK_THAT(saved.model, Contains("fc1"));
  CHECK(saved.program.empty());  // the schedule is a published one
  CHECK(same_bits(
      match_tensors(saved.tensors, expected_state(rig.graph(), rig.config()), "saved", rig.graph()),
      rig.pipeline().parameters()));
}

TEST_CASE("each checkpoint is reported once, with its reason", "[saving]") {
  RunRig rig;
  Saving saving(saving_of(rig));
  saving.save(progress_at(1), "every_steps");
  saving.save(progress_at(1), "end");  // the same step again
  saving.save(progress_at(2), "best");
  saving.finish();
  const auto saved = rig.events("checkpoint");
  REQUIRE(saved.size() == 2);
  CHECK(saved[0]["step"] == 1);
  CHECK(saved[0]["reason"] == "every_steps");
  CHECK(saved[1]["reason"] == "best");
  CHECK(saved[1]["path"] == (rig.folder() / "checkpoints" / checkpoint_name(2)).string());
}

TEST_CASE("as many checkpoints are kept as the config says", "[saving]") {
  RunRig rig({"checkpoint.keep_latest=1"});
  Saving saving(saving_of(rig));
  for (std::int64_t step = 1; step <= 3; ++step) saving.save(progress_at(step), "every_steps");
  saving.finish();
  CHECK(committed_checkpoints(rig.folder() / "checkpoints") == std::vector<std::int64_t>{3});
}
