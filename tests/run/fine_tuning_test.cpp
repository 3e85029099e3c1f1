// What a config says about training a part of a model: which parameters, how fast, from which
// values.
#include "run/fine_tuning.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "checkpoint/folder.hpp"
#include "checkpoint/load.hpp"
#include "checkpoint/scratch.hpp"
#include "checkpoint/state.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "run/earlier_run.hpp"
#include "run/run_rig.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

constexpr const char* tied_twice = R"(
name = "tied"
input = { tokens = 4, vocabulary = 8 }
layers = [
  { name = "wte", kind = "embedding", embedding_dim = 6 },
  { name = "fc", kind = "linear", out_features = 6 },
  { name = "head", kind = "linear", out_features = 8, bias = false, tied = "wte" },
]
)";

Graph chosen(const std::string& model, const Config& config) {
  Graph graph = read_model_text(model, "test");
  choose_trained(config, graph);
  return graph;
}

Config training(const std::vector<std::string>& names) {
  Config config;
  config.model.trainable = {names};
  return config;
}

// Weights of the rig's model in a file, with a head of another size.
struct PretrainedFile {
  explicit PretrainedFile(int classes) : file(scratch.path / "weights.safetensors") {
    NamedTensors values = initial_parameters(RunRig().graph(), 99);
    values.at("fc2.weight") = {Shape{{classes, 8}},
                               std::vector<float>(static_cast<std::size_t>(8 * classes), 0.5F)};
    values.at("fc2.bias") = {Shape{{classes}},
                             std::vector<float>(static_cast<std::size_t>(classes), 0.5F)};
    write_parameters(file, values);
  }
  Config config(const std::vector<std::string>& ignored) const {
    Config config;
    config.model.init = file;
    config.model.init_ignore = {ignored};
    return config;
  }
  Scratch scratch;
  std::filesystem::path file;
};

}  // namespace

TEST_CASE("names of trained parameters are matched as a shell would", "[fine-tuning]") {
  const RunRig rig({"model.trainable=[\"fc2.*\", \"*1.bias\"]"});
  std::vector<std::string> trained;
  for (const Layer& layer : rig.graph().layers)
    for (const Parameter& parameter : layer.parameters)
      if (parameter.trained) trained.push_back(parameter.name);
  CHECK(trained == std::vector<std::string>{"fc1.bias", "fc2.weight", "fc2.bias"});
  CHECK(trained_text(rig.graph()) ==
        "trained  fc1.bias, fc2.weight, fc2.bias: 35 of 83 parameters; the others keep their "
        "values");
  CHECK(trained_text(RunRig().graph()).empty());
}

TEST_CASE("a name that no parameter has is refused, with a similar one", "[fine-tuning]") {
  CHECK_THROWS_WITH(RunRig({"model.trainable=[\"fc2.weigth\"]"}),
                    Contains("model.trainable: no parameter of the model is called 'fc2.weigth'") &&
                        Contains("'fc2.weight'?"));
  CHECK_THROWS_WITH(RunRig({"model.trainable=[\"fc2\"]"}), Contains("did you mean 'fc2.*'?"));
  CHECK_THROWS_WITH(RunRig({"model.trainable=[\"fc\"]"}), Contains("did you mean 'fc*'?"));
  CHECK_THROWS_WITH(RunRig({"model.trainable=[\"layer4.*\"]"}),
                    Contains("the first is 'fc1.weight', the last 'fc2.bias'"));
  CHECK_THROWS_WITH(RunRig({"optimizer.lr_names=[\"head.*\"]", "optimizer.lr_factors=[2.0]"}),
                    Contains("optimizer.lr_names: no parameter of the model is called 'head.*'"));
}

TEST_CASE("the first name that matches has the factor", "[fine-tuning]") {
  const RunRig rig(
      {"optimizer.lr_names=[\"fc2.bias\", \"fc2.*\"]", "optimizer.lr_factors=[10.0, 3.0]"});
  const auto& layers = rig.graph().layers;
  CHECK(layers[0].parameters[0].lr_factor == 1);
  CHECK(layers[2].parameters[0].lr_factor == 3);
  CHECK(layers[2].parameters[1].lr_factor == 10);
}

TEST_CASE("a parameter of several layers goes by the name of its first", "[fine-tuning]") {
  const Graph graph = chosen(tied_twice, training({"wte.*"}));
  CHECK(graph.layers[0].parameters[0].trained);
  CHECK(graph.layers[2].parameters[0].trained);
  CHECK_FALSE(graph.layers[1].trains());
  CHECK(trained_text(graph) ==
        "trained  wte.weight: 48 of 90 parameters; the others keep their values");
  CHECK_THROWS_WITH(chosen(tied_twice, training({"head.*"})),
                    Contains("model.trainable: 'head.weight' is tied to 'wte.weight'; write that"));
  CHECK_NOTHROW(chosen(tied_twice, training({"*.weight"})));
  Config rates;
  rates.optimizer.lr_names = {{"fc.*", "head.weight"}};
  rates.optimizer.lr_factors = {2.0, 3.0};
  CHECK_THROWS_WITH(chosen(tied_twice, rates),
                    Contains("optimizer.lr_names: 'head.weight' is tied to 'wte.weight'"));
}

TEST_CASE("parameters that init may leave out begin as they would without init", "[fine-tuning]") {
  const PretrainedFile pretrained(5);  // the model has 3 classes
  const RunRig rig;
  std::vector<std::string> fresh;
  const Config config = pretrained.config({"fc2.*"});
  const NamedTensors values = fine_tuned_parameters(config, rig.graph(), fresh);
  CHECK(fresh == std::vector<std::string>{"fc2.bias", "fc2.weight"});
  CHECK(values.at("fc1.weight").values ==
        initial_parameters(rig.graph(), 99).at("fc1.weight").values);
  CHECK(values.at("fc2.weight").values ==
        initial_parameters(rig.graph(), config.training.seed).at("fc2.weight").values);

  CHECK_THROWS_WITH(fine_tuned_parameters(pretrained.config({"fc2.bias"}), rig.graph(), fresh),
                    Contains("fc2.weight"));
  CHECK_THROWS_WITH(fine_tuned_parameters(pretrained.config({"fc3.*"}), rig.graph(), fresh),
                    Contains("model.init_ignore: no parameter of the model is called 'fc3.*'"));
}

TEST_CASE("init may be a checkpoint, or a run, whose last weights it takes", "[fine-tuning]") {
  RunRig rig({"checkpoint.every_steps=2"});
  rig.keep_config();
  Training(rig.input()).run();
  const std::filesystem::path newest = find_checkpoint(rig.folder());
  const auto first_of = [&](const std::filesystem::path& init, const NamePatterns& ignore) {
    Config config;
    config.model.init = init;
    config.model.init_ignore = ignore;
    std::vector<std::string> fresh;
    return floats(fine_tuned_parameters(config, rig.graph(), fresh), "fc1.weight");
  };
  const NamedTensors trained = read_weights(newest, rig.graph());
  for (const auto& init : {newest, rig.folder() / "checkpoints/latest", rig.folder()})
    for (const NamePatterns& ignore : {NamePatterns{}, NamePatterns{{"fc2.*"}}})
      CHECK(first_of(init, ignore) == floats(trained, "fc1.weight"));
  const NamedTensors last = initial_parameters(rig.graph(), 99);
  write_parameters(rig.folder() / "model.safetensors", last);
  CHECK(first_of(rig.folder(), {}) == floats(last, "fc1.weight"));
}

TEST_CASE("a run of a part of a model is resumed as any other", "[fine-tuning]") {
  const std::vector<std::string> sets = {
      "checkpoint.every_steps=2", "model.trainable=[\"fc2.*\"]", "optimizer.momentum=0.9",
      "optimizer.lr_names=[\"fc2.bias\"]", "optimizer.lr_factors=[2.0]"};
  RunRig rig(sets);
  rig.keep_config();
  Training(rig.input()).run();
  const EarlierRun found = earlier_run(rig.folder(), {}, rig.config());
  CHECK(found.checkpoint->manifest.progress.step == 4);
  CHECK_NOTHROW(check_model(*found.checkpoint, rig.graph()));
  const Checkpoint whole = read_checkpoint(found.checkpoint->folder);
  CHECK(expected_state(rig.graph(), rig.config()).size() == whole.tensors.size());
  CHECK_THROWS_WITH(earlier_run(rig.folder(), {}, RunRig({sets[0]}).config()),
                    Contains("model.trainable"));
}
