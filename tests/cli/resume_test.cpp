// The same command again: what happens to what an earlier run left.
#include <fstream>

#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

TEST_CASE("a finished run is not run again, and says so") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train = "train " + folder.config().string() + " --output " + run.string();
  REQUIRE(run_binary(train + " --quiet").code == 0);
  const std::string metrics = bytes_of(run / "metrics.jsonl");

  const Ran again = run_binary(train);
  CHECK(again.code == 0);
  CHECK(has(again.out + again.err, "has finished"));
  const Ran with_json = run_binary(train + " --json");
  CHECK(with_json.code == 0);
  const json result = json::parse(with_json.out);
  CHECK(result["already_finished"] == true);
  CHECK(result["step"] == 6);
  CHECK(result["validation"]["step"] == 6);
  // Where it runs and how much is logged changes nothing that is computed.
  CHECK(run_binary(train + " --set pipeline.stages=1 --set 'pipeline.split=\"auto\"' "
                           "--set 'hardware.workers=\"inline\"' --set metrics.log_every_steps=3")
            .code == 0);
  CHECK(bytes_of(run / "metrics.jsonl") == metrics);
}

TEST_CASE("a run of another config is kept: exit 2 names the keys and the ways out") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train = "train " + folder.config().string() + " --output " + run.string();
  REQUIRE(run_binary(train + " --quiet").code == 0);
  const std::string weights = bytes_of(run / "model.safetensors");
  const Ran other = run_binary(train + " --set optimizer.lr=0.5 --set training.seed=2");
  CHECK(other.code == 2);
  CHECK(has(other.err, "optimizer.lr, training.seed"));
  CHECK(has(other.err, "--output"));
  CHECK(has(other.err, "--resume never"));
  const Ran longer = run_binary(train + " --set training.epochs=3");
  CHECK(longer.code == 2);
  CHECK(has(longer.err, "training.epochs"));
  CHECK(bytes_of(run / "model.safetensors") == weights);
  CHECK(run_binary(train + " --resume checkpoints/step-00000001").code == 2);

  fs::remove(run / "config.resolved.toml");
  std::ofstream(run / "config.resolved.toml") << "[pipeline]\nstages = \"many\"\n";
  const Ran damaged = run_binary(train);
  CHECK(damaged.code == 2);
  CHECK(has(damaged.err, "--resume never"));

  REQUIRE(run_binary(train + " --quiet --resume never --set training.seed=2").code == 0);
  CHECK(bytes_of(run / "model.safetensors") != weights);
}

TEST_CASE("a killed run leaves whole lines and begins anew; leftovers are harmless") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train = "train " + folder.config().string() + " --quiet --output " +
                            run.string() + " --set training.steps=";
  // Killed from outside once it has written some steps.
  const Ran killed =
      run_binary(train + "100000000 & pid=$!; while [ $(cat " + (run / "metrics.jsonl").string() +
                 " 2>/dev/null | wc -l) -lt 20 ]; do sleep 0.05; done; kill -9 $pid; wait $pid");
  CHECK(killed.code == 128 + 9);
  CHECK(losses_of(run).size() >= 10);
  CHECK_FALSE(fs::exists(run / "model.safetensors"));
  CHECK(run_binary("eval " + folder.config().string() + " --output " + run.string()).code == 3);

  std::ofstream(run / "metrics.jsonl", std::ios::app) << "{\"event\":\"st";
  for (const char* name : {"model.safetensors.part", "config.resolved.toml.part"})
    std::ofstream(run / name) << "half";
  const Ran again = run_binary(train + "4");
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(losses_of(run).size() == 4);
  CHECK(events_of(run).back()["event"] == "end");
  for (const std::string& name : files_of(run)) CHECK_FALSE(name.ends_with(".part"));
}
