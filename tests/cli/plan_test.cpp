// From a measured model to a plan, and a training that plans by itself.
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

// Measured once, since that takes seconds: by the first case that asks, in a cache of this
// program's own, so that what was measured before does not hide anything.
const fs::path& shared_cache() {
  static const TestFolder folder;
  return folder.path;
}

struct Planning {
  const TestFolder folder;
  const std::string config = folder.config().string();
  const fs::path profile = folder.path / "profile.json", run = folder.path / "run";
  fs::path cache = shared_cache();

  Ran pipetrain(const std::string& arguments) const {
    return run_binary(arguments, "XDG_CACHE_HOME=" + cache.string());
  }
  Ran measure(const std::string& sizes = "--microbatch-sizes 4,8") const {
    return pipetrain("profile " + config + " --quiet " + sizes + " --threads 1 --output " +
                     profile.string());
  }
  void take_profile() const {
    static const std::string measured = [&] {
      const Ran ran = measure();
      INFO(ran.err);
      REQUIRE(ran.code == 0);
      return bytes_of(profile);
    }();
    std::ofstream(profile) << measured;
  }
  Ran train(const std::string& more) const {
    return pipetrain("train " + config + " --quiet --output " + run.string() +
                     " --set 'pipeline.schedule=\"auto\"' " + more);
  }
  std::string text_of_run(const char* file) const { return bytes_of(run / file); }
};

}  // namespace

TEST_CASE("a profile has the times of every layer at every size that was asked for") {
  const Planning planning;
  planning.take_profile();
  const json profile = json::parse(bytes_of(planning.profile));
  CHECK(profile["pipetrain_profile"] == 6);
  // Each size with few micro-batches in flight, by itself and in turn with one other training and
  // with several, then with two versions of the weights, by itself and in turn, then with many
  // micro-batches, one version and two; and beside neighbours, if there are cores for them.
  constexpr std::size_t each = 7;
  const std::vector<int> versions = {1, 1, 1, 2, 2, 1, 2};
  REQUIRE(profile["points"].size() >= 2 * each);
  for (std::size_t p = 0; p < 2 * each; ++p) {
    const json& point = profile["points"][p];
    CHECK(point["samples"] == (p < each ? 4 : 8));
    CHECK(point["versions"] == versions[p % each]);
    CHECK(point["neighbours"] == 0);
    CHECK(point["layers"].size() == profile["layers"].size());
  }
  const auto held = [&](std::size_t p) {
    return profile["points"][each + p]["held_bytes"].get<int>();
  };
  CHECK(held(1) == 2 * held(0));
  CHECK(held(2) == 8 * held(0));
  CHECK(held(3) > held(0));
  CHECK(held(4) == 8 * held(3));
  CHECK(held(5) > held(0));
  CHECK(held(6) == held(3));  // one micro-batch at a time in both
  const json& few = profile["points"][each];
  for (const std::size_t many : {5, 6})
    CHECK(profile["points"][each + many]["microbatches"] > few["microbatches"]);
  double forward = 0;
  for (const json& layer : few["layers"]) forward += layer["forward_ms"].get<double>();
  CHECK(forward > 0);
}

TEST_CASE("a plan of a config keeps what the config gives") {
  const Planning planning;
  planning.take_profile();
  const Ran planned = planning.pipetrain("plan " + planning.config + " --profile " +
                                         planning.profile.string() + " --json");
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  const json plan = json::parse(planned.out);
  CHECK(plan["objective"] == "simulate");
  CHECK(plan["stages"].size() == 2);  // the config says 2
  CHECK(plan["minibatch_samples"] == 32);
  CHECK(plan["speedup"].is_number());  // though no plan on one device keeps what it says
  CHECK_FALSE(plan["data_parallel_speedup"] == 1);
  CHECK(plan["step_ms"] > 0);
}

TEST_CASE("a plan includes a link") {
  const Planning planning;
  planning.take_profile();
  const auto step_ms = [&](const std::string& more) {
    const Ran planned = planning.pipetrain("plan " + planning.config + " --profile " +
                                           planning.profile.string() + " --json " + more);
    INFO(planned.err);
    REQUIRE(planned.code == 0);
    return json::parse(planned.out)["step_ms"].get<double>();
  };
  const std::string two = "--set pipeline.schedule='\"1f1b\"' --set pipeline.stages=2";
  const double latency = 100;  // there and back at least
  CHECK(step_ms(two + " --set hardware.link.microseconds=100000") >= step_ms(two) + 2 * latency);
  CHECK(step_ms(two + " --set hardware.link.microseconds=100000 --set "
                      "hardware.workers='\"inline\"'") < latency);
}

TEST_CASE("a plan refuses what it cannot predict") {
  const Planning planning;
  planning.take_profile();
  const auto refusal = [&](const std::string& keys) {
    const Ran planned = planning.pipetrain("plan " + planning.config + " --profile " +
                                           planning.profile.string() + " " + keys);
    CHECK(planned.code == 2);
    return planned.err;
  };
  CHECK(has(refusal("--set 'pipeline.recompute=[\"relu\"]'"),
            "by kind of layer: no plan predicts it"));
  CHECK(has(refusal("--set pipeline.schedule=timeprest --set pipeline.timeprest.times=busy"),
            "in the order of slots only"));
  const Ran order = planning.pipetrain("schedule 1f1b --stages 2 --microbatches 2 --format csv");
  const fs::path csv = planning.folder.write("order.csv", order.out);
  CHECK(has(refusal("--set 'pipeline.schedule_csv=\"" + csv.string() + "\"'"),
            "no plan predicts an order from a file"));
  CHECK(has(refusal("--straight --set 'pipeline.replicas=[2, 1]'"),
            "--straight plans without replicas, but pipeline.replicas = [2, 1]"));
  CHECK(has(refusal("--set 'pipeline.split=[\"nope\"]'"), "has no layer 'nope'"));
  CHECK(has(refusal("--set pipeline.stages=9 --set 'pipeline.split=\"auto\"'"),
            "the model has 4 layers and every stage needs one; write at most 4"));
}

TEST_CASE("a profile of another precision is refused") {
  const Planning planning;
  planning.take_profile();
  const Ran planned =
      planning.pipetrain("plan " + planning.config + " --profile " + planning.profile.string() +
                         " --set 'training.precision=\"bf16\"'");
  CHECK(planned.code == 2);
  CHECK(has(planned.err, "measured for another precision (f32, not bf16)"));
}

TEST_CASE("a training that plans by itself keeps its plan when it resumes") {
  const Planning planning;
  const Ran first = planning.train("--set training.epochs=1 --set checkpoint.every_steps=1");
  INFO(first.err);
  REQUIRE(first.code == 0);
  const std::string config = planning.text_of_run("config.resolved.toml");
  CHECK_FALSE(has(config, "schedule = \"auto\""));
  CHECK(has(config, "schedule = "));
  CHECK(json::parse(planning.text_of_run("plan.json")).contains("planned"));
  const Ran more = planning.train("--set training.epochs=2 --set checkpoint.every_steps=1");
  INFO(more.err);
  CHECK(more.code == 0);
  const std::string schedule = config.substr(config.find("schedule = "));
  CHECK(has(planning.text_of_run("config.resolved.toml"), schedule.substr(0, schedule.find('\n'))));
}

TEST_CASE("stale schedules are compared if the config allows them") {
  const Planning planning;
  const auto compared = [&](const std::string& more) {
    const Ran trained = planning.train("--set training.epochs=1 --resume never " + more);
    INFO(trained.err);
    CHECK(trained.code == 0);
    CHECK_FALSE(has(trained.err, "pipeline.allow_stale has no effect"));
    CHECK_FALSE(has(planning.text_of_run("config.resolved.toml"), "allow_stale = true"));
    return planning.text_of_run("plan.json");
  };
  CHECK_FALSE(has(compared(""), "pipedream_2bw"));
  const std::string stale = compared("--set pipeline.allow_stale=true");
  CHECK(has(stale, "pipedream_2bw"));
  CHECK_FALSE(has(stale, "1f1b_sno"));  // charges workers for transfers, as this machine does not
}

TEST_CASE("a training that plans by itself resumes from a checkpoint that is named") {
  const Planning planning;
  REQUIRE(planning.train("--set training.epochs=1 --set checkpoint.every_steps=1").code == 0);
  const fs::path other = planning.folder.path / "other";
  const Ran resumed = planning.pipetrain(
      "train " + planning.config + " --quiet --output " + other.string() +
      " --set 'pipeline.schedule=\"auto\"' --set training.epochs=1 --set checkpoint.every_steps=1 "
      "--resume " +
      planning.run.string());
  INFO(resumed.err);
  CHECK(resumed.code == 0);
}

// 96 samples in mini-batches of 64: measuring takes two micro-batches of a size.
TEST_CASE("a training that plans by itself measures what the data have") {
  Planning planning;
  planning.cache = planning.folder.path / "cache";  // an empty one
  const Ran trained = planning.train("--set data.batch_size=64 --set training.epochs=1");
  INFO(trained.err);
  CHECK(trained.code == 0);
  const Ran measured =
      planning.pipetrain("profile " + planning.config + " --microbatch-sizes 64 --output " +
                         planning.profile.string());
  CHECK(measured.code == 2);
  CHECK(has(measured.err, "that takes 128 samples, but the data have 96"));
}

TEST_CASE("a profile may come through a pipe") {
  const Planning planning;
  planning.take_profile();
  const Ran planned =
      planning.pipetrain("plan --profile /dev/stdin --json < " + planning.profile.string());
  INFO(planned.err);
  REQUIRE(planned.code == 0);
  CHECK(json::parse(planned.out)["minibatch_samples"] == 8);  // the largest that was measured
  const Ran piped =
      run_binary("plan --profile /dev/stdin --json", "cat " + planning.profile.string() + " |");
  INFO(piped.err);
  CHECK(piped.code == 0);
}

TEST_CASE("a kept profile decides where auto cuts, if no cut changes what is trained") {
  Planning planning;
  planning.cache = planning.folder.path / "cache";  // an empty one
  const auto cut = [&](const std::string& schedule) {
    const Ran ran = planning.pipetrain(
        "train " + planning.config +
        " --dry-run --json --quiet --set pipeline.split=auto --set hardware.threads_per_stage=1" +
        " --set data.batch_size=16 --set pipeline.microbatches=4 --set pipeline.stages=2 --set " +
        "pipeline.schedule=" + schedule);
    INFO(ran.err);
    REQUIRE(ran.code == 0);
    return json::parse(ran.out)["stages"][1]["layer_names"];
  };
  const json estimated = cut("gpipe");
  CHECK(estimated.size() < 3);  // of four layers
  REQUIRE(planning.measure("--microbatch-sizes 4").code == 0);
  for (const auto& file : fs::recursive_directory_iterator(planning.cache)) {
    if (!file.is_regular_file()) continue;
    json profile = json::parse(bytes_of(file.path()));
    for (json& point : profile["points"]) point["layers"].front()["forward_ms"] = 1e6;
    std::ofstream(file.path()) << profile;
  }
  CHECK(cut("gpipe").size() == 3);
  CHECK(cut("zb_h1").size() == 3);
  CHECK(cut("pipedream") == estimated);
}
