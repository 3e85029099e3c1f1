// `pipetrain train` from outside: what a run leaves, where it prints what, and what --dry-run and
// the other options do.
#include "catch.hpp"
#include "run_folder.hpp"

using nlohmann::json;
namespace fs = std::filesystem;

namespace {

using Names = std::vector<std::string>;

Names keys_of(const json& object) {
  Names names;
  for (const auto& [name, value] : object.items()) names.push_back(name);
  return names;
}

const Names run_files = {"build.json",    "checkpoints",       "config.resolved.toml",
                         "metrics.jsonl", "model.safetensors", "plan.json",
                         "program.txt",   "report.html"};

}  // namespace

TEST_CASE("a run directory holds everything, and metrics.jsonl has the events of a training") {
  const TestFolder folder;
  const fs::path run = folder.path / "deep" / "run";
  const Ran ran =
      run_binary("train " + folder.config().string() + " --output " + run.string() +
                 " --set validation.before_first_step=true" + " --set checkpoint.keep_best=false");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(files_of(run) == run_files);
  CHECK(json::parse(bytes_of(run / "build.json")).contains("onednn"));
  const json plan = json::parse(bytes_of(run / "plan.json"));
  CHECK(plan["parameters"] == 784 * 16 + 16 + 16 * 10 + 10);
  CHECK(plan["stages"].size() == 2);
  CHECK(plan["memory_bytes"].size() == 2);
  CHECK(plan["validation_memory_bytes"][0] > 0);
  CHECK(has(bytes_of(run / "program.txt"), "1: 1RA0 1F0 1BH0 1SG0 1BT0"));

  const auto events = events_of(run);
  Names order;
  for (const json& event : events) order.push_back(event["event"]);
  CHECK(order == Names{"start", "validation", "step", "step", "step", "validation", "step", "step",
                       "step", "validation", "checkpoint", "end"});
  CHECK(events[0]["steps"] == 6);
  const json& step = events[2];
  CHECK(keys_of(step) == Names{"bubble", "communication", "epoch", "event", "grad_norm", "loss",
                               "lr", "samples", "samples_per_second", "stages", "step",
                               "step_seconds"});
  CHECK(keys_of(step["stages"][1]) ==
        Names{"busy", "memory_bytes", "staleness", "waiting", "weight_versions"});
  CHECK(step["step"] == 1);
  CHECK(step["epoch"] == 1);
  CHECK(step["samples"] == 32);
  CHECK(step["stages"][0]["memory_bytes"] == plan["memory_bytes"][0]);
  CHECK(events[8]["step"] == 6);
  CHECK(events[8]["epoch"] == 2);
  for (const int i : {1, 5, 9}) {
    CHECK(keys_of(events[i]) ==
          Names{"accuracy", "epoch", "event", "loss", "step", "top5", "validation_memory_bytes"});
    CHECK(events[i]["validation_memory_bytes"] == plan["validation_memory_bytes"]);
    CHECK(events[i]["accuracy"] >= 0.0);
    CHECK(events[i]["top5"] >= events[i]["accuracy"]);
    CHECK(events[i]["top5"] <= 1.0);
  }
  CHECK(events[1]["step"] == 0);
  CHECK(events[9]["step"] == 6);
  CHECK(events[11]["validation"]["loss"] == events[9]["loss"]);

  // For people: the plan once, the last step, the validation, where things are.
  CHECK(has(ran.out, "stage  layers"));
  CHECK(has(ran.out, "step 6/6"));
  CHECK(has(ran.out, "validation after step 3"));
  CHECK(has(ran.out, (run / "model.safetensors").string()));
  CHECK_FALSE(has(ran.out, "\r"));
  CHECK(ran.err.empty());
}

TEST_CASE("names of files need not be UTF-8") {
  const TestFolder folder;
  const fs::path config = folder.path / "caf\351.toml", run = folder.path / "r\351sultat";
  fs::copy_file(folder.config(), config);
  const Ran ran = run_binary("train --json " + config.string() + " --output " + run.string());
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(nlohmann::json::parse(ran.out)["output"].get<std::string>().ends_with("sultat"));
}

TEST_CASE("what a run resolved trains to the same weights again") {
  const TestFolder folder;
  const fs::path a = folder.path / "a", b = folder.path / "b";
  REQUIRE(run_binary("train --quiet " + folder.config().string() + " --output " + a.string() +
                     " --set optimizer.momentum=0.9")
              .code == 0);
  const Ran again = run_binary("train --quiet " + (a / "config.resolved.toml").string() +
                               " --output " + b.string());
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(again.err.empty());
  CHECK(bytes_of(a / "model.safetensors") == bytes_of(b / "model.safetensors"));
  CHECK(bytes_of(a / "config.resolved.toml") == bytes_of(b / "config.resolved.toml"));
}

TEST_CASE("later files override earlier ones, --set overrides all; notes are printed once") {
  const TestFolder folder;
  const fs::path more = folder.write("more.toml", "[training]\nsteps = 4\n[optimizer]\nlr = 0.5\n");
  const Ran ran = run_binary("train --json " + folder.config().string() + " " + more.string() +
                             " --output " + (folder.path / "run").string() +
                             " --set optimizer.lr=0.25 --set optimizer.beta1=0.8");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto events = events_of(folder.path / "run");
  CHECK(events[1]["lr"] == 0.25);
  CHECK(events.back()["step"] == 4);
  const std::size_t note = ran.err.find("has no effect");
  REQUIRE(note != std::string::npos);
  CHECK(ran.err.find("has no effect", note + 1) == std::string::npos);
}

TEST_CASE("--quiet prints nothing; --json one document") {
  const TestFolder folder;
  const std::string train = "train " + folder.config().string() + " --output ";
  const Ran quiet = run_binary(train + (folder.path / "a").string() + " --quiet");
  CHECK(quiet.code == 0);
  CHECK(quiet.out.empty());
  CHECK(quiet.err.empty());
  const Ran ran = run_binary(train + (folder.path / "b").string() + " --json");
  REQUIRE(ran.code == 0);
  const json result = json::parse(ran.out);
  CHECK(result["step"] == 6);
  CHECK(result["validation"]["step"] == 6);
  CHECK(result["memory_bytes"].size() == 2);
  CHECK(result["output"] == (folder.path / "b").string());
  CHECK(has(ran.err, "step 6/6"));
}

TEST_CASE("--dry-run prints everything and writes nothing") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const std::string train =
      "train " + folder.config().string() + " --output " + run.string() + " --dry-run";
  const Ran json_ran = run_binary(train + " --json");
  REQUIRE(json_ran.code == 0);
  const json result = json::parse(json_ran.out);
  CHECK(result["parameters"] == 784 * 16 + 16 + 16 * 10 + 10);
  CHECK(result["stages"][1]["layer_names"] == json({"relu1", "fc2"}));
  CHECK(result["memory_bytes"].size() == 2);
  CHECK(result["memory"][0]["weights"] > 0);
  CHECK(result["layers"][1]["parameters"]["fc1.weight"] == json({16, 784}));
  CHECK(result["layers"][3]["stage"] == 1);
  CHECK(result["program"].size() == 3);
  CHECK(result["steps"] == 6);
  CHECK(result["validation_samples"] == 40);
  const Ran text = run_binary(train);
  CHECK(has(text.out, "fc1.weight [16, 784]"));
  CHECK(has(text.out, "nothing was written"));
  CHECK_FALSE(fs::exists(run));

  REQUIRE(
      run_binary("train --quiet " + folder.config().string() + " --output " + run.string()).code ==
      0);
  CHECK(result["memory_bytes"][1] == events_of(run)[1]["stages"][1]["memory_bytes"]);
}

TEST_CASE("--dry-run takes no memory for the model: 160 GB of weights in 4 GB") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  WARN("skipped: a sanitizer needs more address space than this limit");
  return;
#endif
  const TestFolder folder;
  const std::string wide = folder.config().string() +
                           " --set 'model.layers=[{name=\"flatten\",kind=\"flatten\"},"
                           "{name=\"fc1\",kind=\"linear\",out_features=200000},"
                           "{name=\"relu1\",kind=\"linear\",out_features=200000},"
                           "{name=\"fc2\",kind=\"linear\",out_features=10}]'";
  const std::string limit = "ulimit -v 4000000;";
  const Ran dry = run_binary("train --json --dry-run " + wide, limit);
  INFO(dry.err);
  REQUIRE(dry.code == 0);
  CHECK(json::parse(dry.out)["memory_bytes"][1] > 160'000'000'000);
  const Ran real =
      run_binary("train --quiet " + wide + " --output " + (folder.path / "run").string(), limit);
  CHECK(real.code == 4);
  CHECK(has(real.err, "no memory for"));
  CHECK_FALSE(fs::exists(folder.path / "run"));
}

TEST_CASE("--overfit-one-batch drives the loss to next to nothing, in a folder of its own") {
  const TestFolder folder;
  const Ran ran = run_binary("train --json --overfit-one-batch " + folder.config().string() +
                                 " --set optimizer.momentum=0.9 --set pipeline.stages=1 "
                                 "--set 'pipeline.split=\"auto\"'",
                             "cd " + folder.path.string() + ";");
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(json::parse(ran.out)["loss"] < 0.01);
  CHECK(has(ran.err, "the loss went from "));
  CHECK(fs::exists(folder.path / "runs/small-overfit-one-batch/model.safetensors"));
  CHECK_FALSE(fs::exists(folder.path / "runs/small"));
}

TEST_CASE("hardware.memory_limit refuses, naming the stage, and writes nothing") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const Ran ran = run_binary("train " + folder.config().string() + " --output " + run.string() +
                             " --set 'hardware.memory_limit=\"64KiB\"'");
  CHECK(ran.code == 2);
  CHECK(has(ran.err, "stage 0 needs"));
  CHECK(has(ran.err, "64.0 KiB"));
  CHECK_FALSE(fs::exists(run));
}

TEST_CASE("a training that diverges exits with 5, and metrics.jsonl says so") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const Ran ran = run_binary("train " + folder.config().string() + " --output " + run.string() +
                             " --set optimizer.lr=1e30");
  CHECK(ran.code == 5);
  CHECK(has(ran.err, "diverged at step"));
  const json last = events_of(run).back();
  CHECK(last["event"] == "error");
  CHECK(last["exit_code"] == 5);
  CHECK(has(last["message"], "diverged at step"));
  CHECK_FALSE(fs::exists(run / "model.safetensors"));
}

TEST_CASE("validation that is asked for without samples is reported, and training continues") {
  const TestFolder folder;
  const Ran ran = run_binary("train --quiet " + folder.config().string() + " --output " +
                             (folder.path / "run").string() + " --set data.validation_samples=0");
  INFO(ran.err);
  CHECK((ran.code == 2 || has(ran.err, "no validation samples")));
}

TEST_CASE("bad data exits with 3 and writes nothing") {
  const TestFolder folder;
  const fs::path run = folder.path / "run";
  const fs::path images = folder.write("images", std::string("\0\0\x08\x03\0\0\0\x40", 8));
  const fs::path labels = folder.write("labels", std::string("\0\0\x08\x01\0\0\0\x40", 8));
  const Ran ran = run_binary("train " + folder.config().string() + " --output " + run.string() +
                             " --set 'data.kind=\"idx\"' --set 'data.train_images=\"" +
                             images.string() + "\"' --set 'data.train_labels=\"" + labels.string() +
                             "\"' --set 'validation.every_epochs=0'");
  INFO(ran.err);
  CHECK(ran.code == 3);
  CHECK(has(ran.err, images.string()));
  CHECK_FALSE(fs::exists(run));
}

// It once waited forever: a convolution's kernel was made for two threads, and got one.
TEST_CASE("a training ends, however few threads the environment allows") {
  const TestFolder folder;
  const fs::path config = folder.write("conv.toml", R"(
training = { steps = 1 }
data = { kind = "synthetic", train_samples = 32, validation_samples = 4, batch_size = 32 }
optimizer = { kind = "sgd", lr = 0.01 }
hardware = { threads_per_stage = 2 }

[model]
name = "conv"
input = { shape = [32, 16, 16] }
layers = [
  { name = "conv1", kind = "conv2d", out_channels = 64, kernel = 3, padding = 1 },
  { name = "conv2", kind = "conv2d", out_channels = 64, kernel = 3, padding = 1 },
  { name = "pool", kind = "global_avg_pool" },
  { name = "flat", kind = "flatten" },
  { name = "fc", kind = "linear", out_features = 10 },
]
)");
  for (const char* setting :
       {"OMP_THREAD_LIMIT=1", "OMP_DYNAMIC=true", "OMP_MAX_ACTIVE_LEVELS=0"}) {
    INFO(setting);
    const Ran ran =
        run_binary("train " + config.string() + " --output " + (folder.path / setting).string(),
                   std::string(setting) + " timeout 100");
    INFO(ran.err);
    CHECK(ran.code == 0);
  }
}
