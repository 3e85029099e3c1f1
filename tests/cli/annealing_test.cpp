// PipeMare's learning-rate rescheduling (T1) from outside: what a run says about it, and what stays
// when the run is lengthened.
#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

struct PipeMare {
  const TestFolder folder;
  const fs::path run = folder.path / "run", other = folder.path / "other";
  const std::string config = folder.config().string();
  const std::string sets =
      " --set 'pipeline.schedule=\"pipemare\"' --set pipeline.stages=4 "
      "--set 'pipeline.split=\"uniform\"' --set pipeline.microbatches=";
  // 6 updates, 3 an epoch.
  Ran train(const fs::path& output, int microbatches, const std::string& more = "") const {
    return run_binary("train " + config + sets + std::to_string(microbatches) + " --output " +
                      output.string() + " " + more);
  }
};

std::size_t times_in(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

const std::string not_given = "anneal_steps is not given";

}  // namespace

TEST_CASE("T1 with a delay above 1: each stage's factor, before the first step", "[annealing]") {
  const PipeMare t;
  const std::string line =
      "T1 multiplies the learning rates of stages 0 to 3 by 0.333 0.5 1 1 at step 1, and by 1 from "
      "step 3 on";
  const Ran dry = t.train(t.run, 1, "--dry-run");
  REQUIRE(dry.code == 0);
  CHECK(has(dry.out, "anneal_steps is not given: 2, a quarter of the 6 updates of this training"));
  CHECK(has(dry.out, line));
  const json details = json::parse(t.train(t.run, 1, "--dry-run --json").out)["pipemare"];
  CHECK(details["anneal_steps"] == 2);
  CHECK(details["delays"] == json({3.0, 2.0, 1.0, 0.0}));
  CHECK(details["rate_factors"][1] == 0.5);
  CHECK(details["rate_factors"][3] == 1.0);

  const Ran ran = t.train(t.run, 1);
  REQUIRE(ran.code == 0);
  CHECK(times_in(ran.out, not_given) == 1);
  CHECK(has(ran.out, line));
  CHECK(events_of(t.run)[0]["pipemare"] == details);
  CHECK(has(bytes_of(t.run / "config.resolved.toml"), "anneal_steps = 2\n"));
}

TEST_CASE("T1 without a delay above 1 says that it does nothing, and why", "[annealing]") {
  const PipeMare t;
  for (const std::string asked : {"", " --set pipeline.pipemare.anneal_steps=7"}) {
    const Ran dry = t.train(t.run, 16, "--dry-run" + asked);
    REQUIRE(dry.code == 0);
    CHECK(has(dry.out,
              "T1 does nothing here: no stage's delay is above 1 update (the largest is 0.188); it "
              "acts with 2 micro-batches or fewer"));
    CHECK(has(dry.out, not_given) == asked.empty());
  }
  CHECK(has(t.train(t.run, 16).out, "T1 does nothing here"));
  CHECK(has(t.train(t.run, 1, "--dry-run --set pipeline.pipemare.sync_warmup_epochs=2").out,
            "T1 does nothing here: no update follows the synchronous warm-up"));
  CHECK(has(t.train(t.run, 1, "--dry-run --set pipeline.pipemare.sync_warmup_epochs=1").out,
            "not given: 1, a quarter of the 3 updates that follow the synchronous warm-up\n"
            "T1 multiplies the learning rates of stages 0 to 3 by 0.333 0.5 1 1 at step 4"));
}

TEST_CASE("anneal_steps = 0 turns T1 off, and no line mentions it", "[annealing]") {
  const PipeMare t;
  const Ran off = t.train(t.run, 1, "--set pipeline.pipemare.anneal_steps=0");
  REQUIRE(off.code == 0);
  CHECK_FALSE(has(off.out, "T1"));
  REQUIRE(t.train(t.other, 1).code == 0);
  CHECK(losses_of(t.run) != losses_of(t.other));
}

TEST_CASE("a lengthened run keeps the annealing of its first start", "[annealing]") {
  const PipeMare t;
  const std::string longer = "--set training.epochs=4";
  REQUIRE(t.train(t.run, 1).code == 0);
  const Ran other_number = t.train(t.run, 1, longer + " --set pipeline.pipemare.anneal_steps=3");
  CHECK(other_number.code == 2);
  CHECK(has(other_number.err, "these keys differ: pipeline.pipemare.anneal_steps"));
  CHECK(t.train(t.run, 1, longer + " --set pipeline.pipemare.anneal_steps=0").code == 2);

  const Ran same = t.train(t.run, 1);
  CHECK(has(same.out + same.err, "has finished"));
  const Ran again = t.train(t.run, 1, longer);
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK_FALSE(has(again.out, not_given));
  CHECK(has(again.out, "by 1 from step 3 on"));
  CHECK(has(bytes_of(t.run / "config.resolved.toml"), "anneal_steps = 2\n"));
  CHECK(has(bytes_of(t.run / "checkpoints/step-00000012/config.resolved.toml"),
            "anneal_steps = 2\n"));
  REQUIRE(t.train(t.other, 1, longer + " --set pipeline.pipemare.anneal_steps=2").code == 0);
  CHECK((bytes_of(t.run / "model.safetensors") == bytes_of(t.other / "model.safetensors")));
}

TEST_CASE("a checkpoint brings its annealing into another folder, and only its own into this one",
          "[annealing]") {
  const PipeMare t;
  REQUIRE(t.train(t.run, 1).code == 0);
  const std::string from =
      "--set training.epochs=4 --resume " + (t.run / "checkpoints/step-00000006").string();
  REQUIRE(t.train(t.other, 1, from).code == 0);
  CHECK(has(bytes_of(t.other / "config.resolved.toml"), "anneal_steps = 2\n"));
  const fs::path third = t.folder.path / "third";
  REQUIRE(t.train(third, 1, "--set training.epochs=4").code == 0);  // 12 updates: 3
  CHECK(has(t.train(third, 1, from).err, "pipeline.pipemare.anneal_steps"));
}

TEST_CASE("a start that left no checkpoint settles no annealing", "[annealing]") {
  const PipeMare t;
  REQUIRE(t.train(t.run, 1).code == 0);
  fs::remove(t.run / "model.safetensors");
  fs::remove_all(t.run / "checkpoints");
  const Ran again = t.train(t.run, 1, "--set training.epochs=4");
  REQUIRE(again.code == 0);
  CHECK(has(again.out, "is not given: 3, a quarter of the 12 updates"));
}
