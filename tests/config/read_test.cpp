// What is read: values, precedence, paths, the inline model, notes, and back to TOML.
#include <algorithm>

#include "catch.hpp"
#include "config/keys.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "read_support.hpp"

using namespace pipetrain;

namespace {

const std::string kEverything = R"(
[model]
file = "models/m.toml"
init = "w.safetensors"
[data]
kind = "idx"
train_images = "i.gz"
train_labels = "l.gz"
validation_images = "vi"
validation_labels = "vl"
train_range = [0, 8000]
validation_range = [8000, 10_000]
batch_size = 96
shuffle = false
drop_last = false
[pipeline]
schedule = "gpipe"
stages = 3
microbatches = 6
split = ["conv\"2", "fc1"]
replicas = [1, 1, 1]
recompute = "none"
[optimizer]
kind = "sgd"
lr = 0.1
momentum = 0.9
nesterov = true
weight_decay = 5e-4
max_norm = 1
[lr_schedule]
kind = "step"
warmup_steps = 5
milestones = [10, 20]
gamma = 0.3
[training]
steps = 100
seed = 9223372036854775807
on_nonfinite = "skip"
[validation]
every_steps = 50
batch_size = 17
before_first_step = true
[metrics]
log_every_steps = 3
tensorboard = true
trace_steps = [10, 12]
[hardware]
backend = "reference"
workers = "inline"
threads_per_stage = 0
memory_limit = "1.5GiB"
)";

const std::string kInline = R"(
[model]
name = "tiny"
input = { shape = [1, 4, 4] }
loss = "mse"
[[model.layers]]
name = "flat"
kind = "flatten"
[[model.layers]]
name = "fc"
kind = "linear"
out_features = 3
)";

Config read_back(const Config& config, bool minimal) {
  const Folder folder;
  return read_config({folder.write(config.name + ".toml", dump_config(config, minimal))}, {})
      .config;
}

}  // namespace

TEST_CASE("a config of defaults is that of the structs") {
  Config expected;
  expected.name = "run";
  Config config = read_text(kModel).config;
  CHECK(config.model.file.filename() == "m.toml");
  config.model.file.clear();
  CHECK(config == expected);
}

TEST_CASE("each value lands in its field") {
  const Config config = read_text(kEverything).config;
  CHECK(config.name == "run");
  CHECK(config.data.kind == DataKind::Idx);
  CHECK(config.data.train_range == SampleRange{0, 8000});
  CHECK(config.data.validation_range == SampleRange{8000, 10000});
  CHECK(config.data.batch_size == 96);
  CHECK_FALSE(config.data.shuffle);
  CHECK(config.pipeline.split.first_layers == std::vector<std::string>{"conv\"2", "fc1"});
  CHECK(config.pipeline.replicas == std::vector<int>{1});
  CHECK(config.optimizer.weight_decay == 5e-4);
  CHECK(config.optimizer.max_norm == 1.0);  // an integer is accepted for a float
  CHECK(config.lr_schedule.milestones == std::vector<std::int64_t>{10, 20});
  CHECK(config.training.epochs == 0);
  CHECK(config.training.steps == 100);
  CHECK(config.training.seed == 9223372036854775807u);
  CHECK(config.training.on_nonfinite == OnNonfinite::Skip);
  CHECK(config.metrics.tensorboard);
  CHECK(config.metrics.trace_steps == StepRange{10, 12});
  CHECK(config.hardware.memory_limit == 1610612736);
}

TEST_CASE("steps to trace are a first and a last one, or none") {
  const auto steps = [](const std::string& text) {
    return read_text(kModel, {"metrics.trace_steps=" + text}).config.metrics.trace_steps;
  };
  CHECK(steps("[3, 3]") == StepRange{3, 3});
  CHECK(steps("[1, 1000]") == StepRange{1, 1000});
  CHECK_FALSE(steps("[]").has_value());
}

TEST_CASE("sizes are bytes, in binary or decimal units") {
  const auto limit = [](const std::string& text) {
    return read_text(kModel, {"hardware.memory_limit=" + text}).config.hardware.memory_limit;
  };
  CHECK(limit("8GiB") == std::int64_t{8} << 30);
  CHECK(limit("\"512 MiB\"") == 512 << 20);
  CHECK(limit("2GB") == 2000000000);
  CHECK(limit("100B") == 100);
  CHECK(limit("4096") == 4096);
}

TEST_CASE("the command line wins over a later file over an earlier one over the default") {
  const Folder folder;
  const auto first = folder.write(
      "a.toml", kModel + "[pipeline]\nstages = 2\nmicrobatches = 4\n[optimizer]\nlr = 1\n");
  const auto second = folder.write("b.toml", "[pipeline]\nstages = 3\n[optimizer]\nlr = 2\n");
  const Config config = read_config({first, second}, {"pipeline.stages=4", "optimizer.momentum=0.5",
                                                      "optimizer.momentum=0.25"})
                            .config;
  CHECK(config.name == "b");
  CHECK(config.pipeline.stages == 4);
  CHECK(config.pipeline.microbatches == 4);
  CHECK(config.optimizer.lr == 2);
  CHECK(config.optimizer.momentum == 0.25);
  CHECK(config.data.batch_size == 64);
}

TEST_CASE("a later source may choose the other of two keys that exclude each other") {
  const std::string epochs = kModel + "[training]\nepochs = 5\n[validation]\nevery_epochs = 1\n";
  Config config = read_text(epochs, {"training.steps=7"}).config;
  CHECK(config.training.steps == 7);
  CHECK(config.training.epochs == 0);
  config = read_text(epochs, {"validation.every_steps=0"}).config;
  CHECK(config.validation.every_epochs == 1);
  config = read_text(epochs, {"validation.every_steps=9"}).config;
  CHECK(config.validation.every_epochs == 0);
  const std::string both = refusal(epochs, {"training.steps=7", "training.epochs=2"});
  CHECK(both.find("--set training.steps: training.epochs and training.steps are both given") == 0);
}

TEST_CASE("--set takes TOML values and bare words") {
  const Config config =
      read_text(kModel, {"pipeline.schedule=gpipe", "pipeline.stages=2", "pipeline.split=[\"fc1\"]",
                         "data.shuffle=false", "optimizer.kind=\"adam\"", "training.seed=0x10"})
          .config;
  CHECK(config.pipeline.schedule == "gpipe");
  CHECK(config.pipeline.split.first_layers == std::vector<std::string>{"fc1"});
  CHECK_FALSE(config.data.shuffle);
  CHECK(config.optimizer.kind == OptimizerKind::Adam);
  CHECK(config.training.seed == 16);
  CHECK(read_text(kModel, {"pipeline.schedule=1f1b"}).config.pipeline.schedule == "1f1b");
}

TEST_CASE("paths start from the folder of the file that names them") {
  const Folder folder;
  const auto file = folder.write("configs/run.toml",
                                 "[model]\nfile = \"../models/./m.toml\"\ninit = \"/abs/w\"\n");
  Config config = read_config({file}, {}).config;
  CHECK(config.model.file == folder.path() / "models/m.toml");
  CHECK(config.model.init == "/abs/w");
  config = read_config({file}, {"model.file=other/m.toml"}).config;
  CHECK(config.model.file == std::filesystem::current_path() / "other/m.toml");
  CHECK(read_config({file}, {"model.init=\"\""}).config.model.init.empty());
}

TEST_CASE("inline layers become the text of a model file") {
  const Config config = read_text(kInline).config;
  CHECK(config.model.file.empty());
  CHECK(config.inline_model.find("name = 'tiny'") != std::string::npos);
  CHECK(config.inline_model.find("[[layers]]") != std::string::npos);
  CHECK(config.inline_model.find("loss = 'mse'") < config.inline_model.find("[[layers]]"));
  const Config smoothed = read_text("[model]\nlabel_smoothing = 0.1\n" + kInline.substr(9)).config;
  CHECK(smoothed.inline_model.find("label_smoothing = 0.1") <
        smoothed.inline_model.find("[[layers]]"));
}

TEST_CASE("messages about an inline model of several sources name where each part was written") {
  const ReadConfig read = read_text(kInline, {"model.loss=l1"});
  CHECK(read.inline_model_file.empty());
  const std::string& text = read.config.inline_model;
  const auto line_of = [&](const std::string& part) {
    return std::to_string(1 + std::count(text.begin(), text.begin() + text.find(part), '\n'));
  };
  CHECK(with_model_places(read, "run:" + line_of("loss = ") + ":8: no loss") ==
        "--set model.loss: no loss");
  const std::string two = with_model_places(
      read, "run:" + line_of("input = ") + ":9: a\nrun:" + line_of("kind = 'linear'") + ":1: b");
  CHECK(two.find("/run.toml:4:1: a\n") != std::string::npos);
  CHECK(two.find("/run.toml:6:") < two.find(": b"));
  for (const std::string other : {"run: a", "run:x:1: a", "other:1:1: a", "run:0:1: a"})
    CHECK(with_model_places(read, other) == other);
}

TEST_CASE("between a model file and inline layers the later source wins") {
  const Folder folder;
  const auto file = folder.write("file.toml", kModel),
             layers = folder.write("inline.toml", kInline);
  Config config = read_config({file, layers}, {}).config;
  CHECK(config.model.file.empty());
  CHECK_FALSE(config.inline_model.empty());
  config = read_config({layers, file}, {}).config;
  CHECK(config.model.file.filename() == "m.toml");
  CHECK(config.inline_model.empty());
}

TEST_CASE("a config survives being written and read") {
  for (const bool minimal : {false, true}) {
    for (const std::string& text :
         {kModel, kEverything, kInline + "[pipeline]\nstages = 2\n", kModel + "[model.init]\n"}) {
      if (!refusal(text).empty()) continue;
      const Config config = read_text(text).config;
      INFO(dump_config(config, minimal));
      CHECK(read_back(config, minimal) == config);
    }
  }
}

TEST_CASE("every single key survives, beside the kind that it is for") {
  const std::vector<std::vector<std::string>> cases = {
      {"optimizer.beta1=0.5", "optimizer.kind=adam"},
      {"optimizer.eps=1e-300", "optimizer.kind=adam"},
      {"pipeline.warmup=double"},
      {"pipeline.vertical_sync=true", "pipeline.schedule=pipedream"},
      {"pipeline.gradient_rule=recompute", "pipeline.schedule=timeprest"},
      {"pipeline.pipemare.anneal_steps=0", "pipeline.schedule=pipemare"},
      {"pipeline.pipemare.decay=0.1", "pipeline.schedule=pipemare"},
      {"pipeline.i_timeprest.sigma=inverse", "pipeline.schedule=i_timeprest"},
      {"lr_schedule.gamma=0.30000000000000004", "lr_schedule.kind=step",
       "lr_schedule.milestones=[3]"},
      {"data.train_samples=1", "data.kind=synthetic"},
      {"data.train_inputs=\"x y\\\"\\t\"", "data.kind=npy", "data.train_labels=y"},
      {"training.epochs=2147483647"},
      {"hardware.memory_limit=1000"},
      {"hardware.devices=['cuda:0','cuda:10','cuda:0']", "hardware.backend=cuda",
       "pipeline.stages=3"},
      {"metrics.trace_steps=[4,4]"},
      {"data.train_range=[3,4]", "data.kind=cifar10", "data.train_files=x"}};
  for (const std::vector<std::string>& sets : cases) {
    const Config config = read_text(kModel, sets).config;
    INFO(sets[0] << "\n" << dump_config(config, false));
    CHECK(read_back(config, false) == config);
    CHECK(read_back(config, true) == config);
    CHECK(differing_keys(config, Config()).size() == sets.size() + 1);  // and model.file
  }
}

TEST_CASE("pipemare: leaving out anneal_steps is not the same as 0") {
  const Config none = read_text(kModel, {"pipeline.schedule=pipemare"}).config;
  CHECK_FALSE(none.pipeline.pipemare.anneal_steps);
  CHECK(dump_config(none, false).find("anneal_steps") == std::string::npos);
  Config off = none;
  off.pipeline.pipemare.anneal_steps = 0;
  CHECK(differing_keys(none, off) == std::vector<std::string>{"pipeline.pipemare.anneal_steps"});
  CHECK(dump_config(off, true).find("anneal_steps = 0") != std::string::npos);
  const Config read = read_back(off, false);
  CHECK(read.pipeline.pipemare.anneal_steps == 0);
  CHECK(describe_keys().find("# anneal_steps =") != std::string::npos);
}

TEST_CASE("a full dump is read back without notes, a minimal one is short") {
  const Config config = read_text(kModel + "[optimizer]\nkind = \"adam\"\n").config;
  const Folder folder;
  CHECK(read_config({folder.write("run.toml", dump_config(config, false))}, {}).notes.empty());
  const std::string file = config.model.file.string();
  CHECK(dump_config(config, true) ==
        "[model]\nfile = \"" + file + "\"\n\n[optimizer]\nkind = \"adam\"\n");
}

TEST_CASE("keys without effect are allowed and noted once") {
  const auto notes = read_text(kModel +
                                   "[optimizer]\nkind = \"adam\"\nmomentum = 0.9\n[pipeline]\n"
                                   "vertical_sync = true\n[pipeline.pipemare]\ndecay = 0.5\n"
                                   "[hardware]\ndevices = [\"cuda:0\"]\n",
                               {"optimizer.momentum=0.8"})
                         .notes;
  REQUIRE(notes.size() == 4);
  CHECK(notes[0].find("run.toml:7:17: pipeline.vertical_sync has no effect with pipeline.schedule "
                      "= \"1f1b\"") != std::string::npos);
  CHECK(notes[1].find("pipeline.pipemare.decay") != std::string::npos);
  CHECK(notes[2].find("--set optimizer.momentum: optimizer.momentum has no effect with "
                      "optimizer.kind = \"adam\" (it is for sgd)") == 0);
  CHECK(notes[3].find("hardware.devices") != std::string::npos);
  CHECK(read_text(kEverything).notes.empty());
}

TEST_CASE("devices are those of the workers, in their order") {
  const std::string cuda = "[pipeline]\nstages = 4\n[hardware]\nbackend = \"cuda\"\n";
  const std::vector<std::string> two = {"cuda:1", "cuda:0"},
                                 four = {"cuda:0", "cuda:0", "cuda:1", "cuda:1"};
  const auto devices = [&](const std::string& line) {
    return read_text(kModel + cuda + line).config.hardware.devices;
  };
  CHECK(devices("").empty());
  CHECK(devices("devices = [\"cuda:1\", \"cuda:0\"]\n") == two);
  CHECK(devices("devices = [\"cuda:0\", \"cuda:0\", \"cuda:1\", \"cuda:1\"]\n") == four);
  CHECK(read_text(kModel + cuda + "devices = [\"cuda:0\"]\n").notes.empty());
  CHECK(dump_config(read_text(kModel + cuda).config, false).find("devices") == std::string::npos);
}

TEST_CASE("differing keys come by name, in order") {
  Config a, b;
  CHECK(differing_keys(a, b).empty());
  b.optimizer.lr = 1;
  b.data.batch_size = 3;
  b.inline_model = "x";
  b.training.epochs = 4;
  CHECK(differing_keys(a, b) == std::vector<std::string>{"model.layers", "data.batch_size",
                                                         "optimizer.lr", "training.epochs"});
}

TEST_CASE("the description has a line for each key that may be written") {
  const std::string text = describe_keys();
  CHECK(text.find("[pipeline]\nschedule = \"1f1b\"") != std::string::npos);
  CHECK(text.find("gpipe | 1f1b") != std::string::npos);
  CHECK(text.find("[checkpoint]\nevery_steps = 0") != std::string::npos);
}

TEST_CASE("keys have paths of their own, and choosing keys come before what they choose") {
  for (const config::Key& key : config::keys()) {
    INFO(key.path);
    CHECK(config::find_key(key.path) == &key);
    if (!key.of.empty()) CHECK(config::find_key(key.of) < &key);
  }
}

TEST_CASE("an inline model is read back, in whatever form its parts are written") {
  const std::string layers =
      "layers = [{ kind = \"embedding\", name = \"a\", embedding_dim = 4 },"
      " { block = \"b\", name = \"b\" }]\n";
  const std::string blocks = "[model.blocks.b]\nlayers = [{ kind = \"relu\", name = \"r\" }]\n";
  const std::string forms[] = {"input = { tokens = 4, vocabulary = 8 }\n" + layers,
                               "input.tokens = 4\ninput.vocabulary = 8\n" + layers,
                               layers + "[model.input]\ntokens = 4\nvocabulary = 8\n"};
  for (const std::string& parts : forms) {
    const std::string text = "[model]\n" + parts + blocks;
    INFO(text);
    const std::string model = read_text(text).config.inline_model;
    CHECK(read_model_text(model, "model").layers.size() == 2);
    CHECK(read_text(dump_config(read_text(text).config, false)).config.inline_model == model);
    const std::string changed = read_text(text, {"model.input.tokens=6"}).config.inline_model;
    CHECK(read_model_text(changed, "changed").input.dims[0] == 6);
  }
}
