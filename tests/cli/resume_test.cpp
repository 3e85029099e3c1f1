// The same command again: what happens to what an earlier run left.
#include <fstream>

#include "catch.hpp"
#include "places.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

std::vector<int> steps_of(const fs::path& run) {
  std::vector<int> steps;
  for (const json& event : events_of(run))
    if (event["event"] == "step") steps.push_back(event["step"]);
  return steps;
}

std::vector<int> counted(int last) {
  std::vector<int> steps;
  for (int step = 1; step <= last; ++step) steps.push_back(step);
  return steps;
}

// Adam, a learning rate that moves and dropout-free layers: whatever is not restored shows.
struct Trainings {
  const TestFolder folder;
  const fs::path run = folder.path / "run", other = folder.path / "other";
  const std::string config = folder.config().string();
  const std::string sets =
      " --quiet --set 'optimizer.kind=\"adam\"' --set optimizer.lr=0.01 "
      "--set 'lr_schedule.kind=\"cosine\"' --set checkpoint.every_steps=2";
  Ran train(const fs::path& output, const std::string& more = "") const {
    return run_binary("train " + config + sets + " --output " + output.string() + " " + more);
  }
};

// As if the process had been killed after its save of `step`: everything later is gone.
void cut_to(const fs::path& run, int step) {
  fs::remove(run / "model.safetensors");
  for (const std::string& name : files_of(run / "checkpoints"))
    if (name.starts_with("step-") && std::stoi(name.substr(5)) > step)
      fs::remove_all(run / "checkpoints" / name);
}

}  // namespace

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
  CHECK(run_binary(train + " --set training.steps=6").code == 0);  // as many as two epochs have
  CHECK(bytes_of(run / "metrics.jsonl") == metrics);
}

TEST_CASE("a run resumes from its newest checkpoint to the same bits, under any layout") {
  const Trainings t;
  REQUIRE(t.train(t.other).code == 0);
  const std::string whole = bytes_of(t.other / "model.safetensors");
  const std::string layout = GENERATE("", "--set pipeline.stages=1 --set 'pipeline.split=\"auto\"'",
                                      "--set pipeline.stages=4 --set 'pipeline.split=\"uniform\"' "
                                      "--set 'hardware.workers=\"inline\"'");
  REQUIRE(t.train(t.run, "--set checkpoint.keep_latest=9").code == 0);
  cut_to(t.run, 2);
  CHECK(steps_of(t.run) == counted(6));
  const Ran again = t.train(t.run, layout + " --set checkpoint.keep_latest=9");
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK((bytes_of(t.run / "model.safetensors") == whole));
  CHECK(steps_of(t.run) == counted(6));
  CHECK(losses_of(t.run) == losses_of(t.other));
  const json start = events_of(t.run).at(0);
  CHECK(start["step"] == 0);
  int starts = 0, validations = 0;
  for (const json& event : events_of(t.run)) {
    starts += event["event"] == "start";
    validations += event["event"] == "validation";
  }
  CHECK(starts == 2);
  CHECK(validations == 2);
  // Once more, from a checkpoint that the resumed run wrote.
  cut_to(t.run, 4);
  REQUIRE(t.train(t.run).code == 0);
  CHECK((bytes_of(t.run / "model.safetensors") == whole));
  CHECK(steps_of(t.run) == counted(6));
}

TEST_CASE("bf16: checkpoints are the weights in f32, and lead to the same bits") {
  const Trainings t;
  const std::string bf16 =
      "--set 'training.precision=\"bf16\"' --set 'hardware.backend=\"cpu\"' "
      "--set checkpoint.keep_latest=9";
  REQUIRE(t.train(t.other, bf16).code == 0);
  REQUIRE(t.train(t.run, bf16).code == 0);
  cut_to(t.run, 2);
  REQUIRE(t.train(t.run, bf16).code == 0);
  CHECK((bytes_of(t.run / "model.safetensors") == bytes_of(t.other / "model.safetensors")));
  CHECK(losses_of(t.run) == losses_of(t.other));
  const Ran in_f32 = t.train(t.run, "--set 'hardware.backend=\"cpu\"'");
  CHECK(in_f32.code == 2);
  CHECK(has(in_f32.err, "training.precision"));
}

TEST_CASE("a longer training resumes from the finished one; a shorter one is refused") {
  const TestFolder folder;
  const fs::path run = folder.path / "run", at_once = folder.path / "at-once";
  const std::string train = "train --quiet " + folder.config().string() + " --output ";
  REQUIRE(run_binary(train + at_once.string() + " --set training.epochs=4").code == 0);
  REQUIRE(run_binary(train + run.string()).code == 0);
  const Ran longer = run_binary(train + run.string() + " --set training.epochs=4");
  INFO(longer.err);
  REQUIRE(longer.code == 0);
  CHECK((bytes_of(run / "model.safetensors") == bytes_of(at_once / "model.safetensors")));
  CHECK(steps_of(run) == counted(12));
  const Ran shorter = run_binary(train + run.string() + " --set training.epochs=1");
  CHECK(shorter.code == 2);
  CHECK(has(shorter.err, "12 steps are trained already"));
  CHECK(has(shorter.err, "training.epochs"));
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
  CHECK(bytes_of(run / "model.safetensors") == weights);
  const Ran missing =
      run_binary(train + " --resume " + (run / "checkpoints/step-00000001").string());
  CHECK(missing.code == 3);
  CHECK(has(missing.err, "there is no checkpoint"));

  fs::remove(run / "config.resolved.toml");
  std::ofstream(run / "config.resolved.toml") << "[pipeline]\nstages = \"many\"\n";
  const Ran damaged = run_binary(train);
  CHECK(damaged.code == 2);
  CHECK(has(damaged.err, "--resume never"));

  REQUIRE(run_binary(train + " --quiet --resume never --set training.seed=2").code == 0);
  CHECK(bytes_of(run / "model.safetensors") != weights);
  CHECK(steps_of(run) == counted(6));
}

TEST_CASE("--resume PATH resumes from an older checkpoint, here or in a folder of its own") {
  const Trainings t;
  REQUIRE(t.train(t.other, "--set checkpoint.keep_latest=9").code == 0);
  const std::string whole = bytes_of(t.other / "model.safetensors");
  const fs::path older = t.other / "checkpoints/step-00000002";
  REQUIRE(t.train(t.run, "--resume " + older.string()).code == 0);
  CHECK((bytes_of(t.run / "model.safetensors") == whole));
  CHECK(steps_of(t.run) == std::vector<int>{3, 4, 5, 6});
  REQUIRE(t.train(t.other, "--resume " + older.string() + " --set checkpoint.keep_latest=9").code ==
          0);
  CHECK((bytes_of(t.other / "model.safetensors") == whole));
  CHECK(steps_of(t.other) == counted(6));
  const fs::path elsewhere = t.folder.path / "elsewhere";
  for (const fs::path& output : {t.run, elsewhere}) {
    const Ran refused = t.train(output, "--resume " + older.string() + " --set training.seed=3");
    INFO(refused.err);
    CHECK(refused.code == 2);
    CHECK(has(refused.err, "these keys differ: training.seed"));
    CHECK(has(refused.err, (older / "config.resolved.toml").string()));
    CHECK(has(refused.err, "model.init = \"" + older.string() + "\""));
    CHECK_FALSE(has(refused.err, "--output"));  // it was given, or would not help
  }
  CHECK_FALSE(fs::exists(elsewhere));
}

TEST_CASE("a damaged checkpoint is found, named, and the one before it is offered") {
  const Trainings t;
  REQUIRE(t.train(t.run, "--set checkpoint.keep_latest=9").code == 0);
  cut_to(t.run, 4);
  const fs::path newest = t.run / "checkpoints/step-00000004";
  const fs::path file = newest / GENERATE("stage-0001.safetensors", "manifest.json");
  std::string bytes = bytes_of(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  std::ofstream(file, std::ios::binary) << bytes;
  const Ran refused = t.train(t.run);
  CHECK(refused.code == 3);
  CHECK(has(refused.err, file.string()));
  CHECK(has(refused.err, "--resume"));
  CHECK(run_binary("checkpoint verify " + newest.string()).code == 3);
  CHECK(run_binary("checkpoint verify " + (t.run / "checkpoints/step-00000002").string()).code ==
        0);
  REQUIRE(t.train(t.run, "--resume " + (t.run / "checkpoints/step-00000002").string()).code == 0);
  CHECK(steps_of(t.run) == counted(6));
}

TEST_CASE("a checkpoint of another model: every difference is listed") {
  const Trainings t;
  REQUIRE(t.train(t.run).code == 0);
  cut_to(t.run, 4);
  // The model's text is a part of the config; a model file may change behind its name.
  std::string model = bytes_of(t.run / "config.resolved.toml");
  const auto at = model.find("out_features = 16");
  REQUIRE(at != model.npos);
  const Ran eval = run_binary(
      "eval " + t.folder.write("wide.toml", model.replace(at, 17, "out_features = 17")).string() +
      " --model " + (t.run / "checkpoints/step-00000004").string());
  CHECK(eval.code == 3);
  for (const char* name : {"fc1.weight", "fc1.bias", "fc2.weight"}) CHECK(has(eval.err, name));
}

TEST_CASE("a model file that changed behind its name is refused, layer by layer") {
  const TestFolder folder;
  const std::string model = R"(name = "toy"
input = { shape = [1, 28, 28] }
layers = [
  { name = "flatten", kind = "flatten" },
  { name = "drop", kind = "dropout", p = 0.5 },
  { name = "fc", kind = "linear", out_features = 10 },
]
)";
  const fs::path file = folder.write("toy.toml", model);
  const fs::path config = folder.write("run.toml", R"(model.file = "toy.toml"
[data]
kind = "glyphs"
train_samples = 64
batch_size = 32
)");
  const fs::path run = folder.path / "run";
  const std::string train = "train --quiet " + config.string() + " --output " + run.string();
  REQUIRE(run_binary(train).code == 0);
  std::string changed = model;
  folder.write("toy.toml", "# only a remark\n" + model);
  CHECK(run_binary(train + " --set training.epochs=2").code == 0);
  folder.write("toy.toml", changed.replace(changed.find("0.5"), 3, "0.4"));
  const Ran ran = run_binary(train + " --set training.epochs=3");
  CHECK(ran.code == 2);
  CHECK(has(ran.err, "dropout 'drop'"));
  CHECK_FALSE(has(ran.err, "'fc'"));
  CHECK(has(ran.err, "--resume never"));
}

TEST_CASE("a run killed before its first save leaves whole lines and starts over") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train = "train " + folder.config().string() +
                            " --set checkpoint.keep_best=false --quiet --output " + run.string() +
                            " --set training.steps=";
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
  fs::create_directories(run / "checkpoints/step-00000004.part");
  std::ofstream(run / "checkpoints/step-00000004.part/stage-0000.safetensors") << "half";
  const Ran again = run_binary(train + "4");
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(losses_of(run).size() == 4);
  CHECK(events_of(run).back()["event"] == "end");
  for (const fs::path& place : {run, run / "checkpoints"})
    for (const std::string& name : files_of(place)) CHECK_FALSE(name.ends_with(".part"));
}

TEST_CASE("two trainings do not share a folder") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train = "train " + folder.config().string() + " --quiet --output " +
                            run.string() + " --set training.steps=";
  const std::string binary = "'" + built_binary().string() + "' ";
  const Ran both = run_binary(train + "100000000 & pid=$!; while [ ! -s " +
                              (run / "metrics.jsonl").string() + " ]; do sleep 0.05; done; " +
                              binary + train + "4; code=$?; kill -9 $pid; wait $pid; exit $code");
  CHECK(both.code == 2);
  CHECK(has(both.err, "another process is training"));
}
