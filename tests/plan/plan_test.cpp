#include "plan/plan.hpp"

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/error.hpp"
#include "catch.hpp"
#include "even_costs.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "places.hpp"

using namespace pipetrain;
using pipetrain::testing::even_costs;

namespace {

Graph model(const char* name) { return read_model(source_tree() / "models" / name); }

Config config(int stages, SplitConfig split = {}) {
  Config out;
  out.pipeline.stages = stages;
  out.pipeline.split = std::move(split);
  return out;
}

std::string cuts(const Graph& graph, const Plan& plan) {
  std::string text;
  for (const StagePlan& stage : plan.stages)
    text += graph.layers[static_cast<std::size_t>(stage.first.value)].name + ' ';
  text.pop_back();
  return text;
}

Plan plan_of(const Graph& graph, const Config& config) {
  return make_plan(graph, config, even_costs(graph));
}

std::string error_of(const Graph& graph, const Config& config) {
  try {
    plan_of(graph, config);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every layer is in exactly one stage, under every rule and count") {
  for (const char* name : {"lenet5.toml", "small-residual.toml"}) {
    const Graph graph = model(name);
    const auto layers = static_cast<int>(graph.layers.size());
    for (const SplitRule rule : {SplitRule::Auto, SplitRule::Uniform, SplitRule::Parameters})
      for (int stages = 1; stages <= layers; ++stages) {
        INFO(name << " " << static_cast<int>(rule) << " " << stages);
        const Plan plan = plan_of(graph, config(stages, {rule, {}}));
        REQUIRE(plan.stages.size() == static_cast<std::size_t>(stages));
        int next = 0;
        std::int64_t parameters = 0;
        for (const StagePlan& stage : plan.stages) {
          CHECK(stage.first.value == next);
          CHECK(stage.last.value >= stage.first.value);
          next = stage.last.value + 1;
          parameters += stage.parameters;
        }
        CHECK(next == layers);
        CHECK(parameters == graph.parameter_count());
      }
  }
}

TEST_CASE("rules on LeNet-5") {
  const Graph graph = model("lenet5.toml");
  CHECK(cuts(graph, plan_of(graph, config(4, {SplitRule::Uniform, {}}))) ==
        "conv1 conv2 flatten fc2");
  CHECK(cuts(graph, plan_of(graph, config(3, {SplitRule::Parameters, {}}))) == "conv1 fc1 fc2");
  CHECK(cuts(graph, plan_of(graph, config(3, {SplitRule::FirstLayers, {"conv2", "fc1"}}))) ==
        "conv1 conv2 fc1");
  CHECK(cuts(graph, plan_of(graph, config(1))) == "conv1");
  const Plan plan = plan_of(graph, config(2));
  CHECK(plan.stages[0].flops + plan.stages[1].flops ==
        239904 + 4704 + 4704 + 481600 + 1600 + 1600 + 96120 + 120 + 20244 + 84 + 1690);
}

TEST_CASE("auto keeps what costs nothing with the layer before it") {
  const Graph graph = model("lenet5.toml");
  BackendCosts costs = even_costs(graph);
  std::set<std::string> free;
  for (std::size_t l = 0; l < graph.layers.size(); ++l) {
    const std::string& name = graph.layers[l].name;
    if (!name.starts_with("relu") && name != "flatten") continue;
    costs.layers[l] = {.computed = 0, .moved = 0};
    free.insert(name);
  }
  REQUIRE(free.size() == 5);
  for (int stages = 2; stages <= 4; ++stages)
    for (const StagePlan& stage : make_plan(graph, config(stages), costs).stages) {
      const Layer& first = graph.layers[static_cast<std::size_t>(stage.first.value)];
      INFO(stages << " " << first.name);
      CHECK_FALSE(free.contains(first.name));
    }
}

TEST_CASE("auto cuts by the costs that the backend gives for layers") {
  const Graph graph = read_model_text(
      "loss = 'mse'\ninput = { shape = [256] }\nlayers = ["
      "{ name = 'a', kind = 'linear', out_features = 256 },"
      "{ name = 'b', kind = 'linear', out_features = 256 },"
      "{ name = 'c', kind = 'linear', out_features = 256 },"
      "{ name = 'd', kind = 'linear', out_features = 256 }]",
      "even");
  BackendCosts costs = even_costs(graph);
  CHECK(cuts(graph, make_plan(graph, config(2), costs)) == "a c");
  costs.layers[0] = costs.layers[1] = {.computed = 0.25, .moved = 0.25};
  CHECK(cuts(graph, make_plan(graph, config(2), costs)) == "a d");
}

TEST_CASE("only auto needs the backend's costs") {
  const Graph graph = model("lenet5.toml");
  CHECK(cuts(graph, make_plan(graph, config(4, {SplitRule::Uniform, {}}), {})) ==
        "conv1 conv2 flatten fc2");
  CHECK_THROWS(make_plan(graph, config(4), {}));
}

TEST_CASE("a stage knows what it computes and what it sends") {
  const Graph graph = model("lenet5.toml");
  const Plan plan = plan_of(graph, config(2, {SplitRule::FirstLayers, {"conv2"}}));
  const StagePlan& first = plan.stages[0];
  CHECK(first.parameters == 156);
  CHECK(first.flops == 239904 + 4704 + 4704);
  CHECK(first.activation_bytes == 4 * (2 * 6 * 28 * 28 + 6 * 14 * 14));
  CHECK(first.received_bytes == 4 * 784);
  CHECK(first.sent_bytes == 4 * 6 * 14 * 14);
  CHECK(plan.stages[1].received_bytes == first.sent_bytes);
  CHECK(plan.stages[1].sent_bytes == 0);
  CHECK(stage_of(plan, LayerId{2}) == StageId{0});
  CHECK(stage_of(plan, LayerId{3}) == StageId{1});
}

TEST_CASE("the name of a block stands for its first layer") {
  const Graph graph = model("small-residual.toml");
  CHECK(cuts(graph, plan_of(graph, config(3, {SplitRule::FirstLayers, {"layer1", "flatten"}}))) ==
        "conv1 layer1.conv1 flatten");
}

TEST_CASE("impossible splits say why and what to write") {
  const Graph graph = model("lenet5.toml");
  CHECK(contains(error_of(graph, config(13)), "has 12 layers"));
  CHECK(contains(error_of(graph, config(0)), "pipeline.stages is 0"));
  CHECK(contains(error_of(graph, config(2, {SplitRule::FirstLayers, {"cnv2"}})),
                 "did you mean 'conv2'?"));
  CHECK(contains(error_of(graph, config(2, {SplitRule::FirstLayers, {"xyzzy"}})),
                 "its layers are conv1, relu1"));
  CHECK(contains(error_of(graph, config(3, {SplitRule::FirstLayers, {"fc1"}})),
                 "names 1 layers, but 3 stages need 2"));
  CHECK(contains(error_of(graph, config(1, {SplitRule::FirstLayers, {"fc1"}})), "or stages = 2"));
  CHECK(contains(error_of(graph, config(3, {SplitRule::FirstLayers, {"fc1", "conv2"}})),
                 "'conv2' does not come after 'fc1'"));
  CHECK(contains(error_of(graph, config(3, {SplitRule::FirstLayers, {"fc1", "fc1"}})),
                 "does not come after"));
  CHECK(
      contains(error_of(graph, config(2, {SplitRule::FirstLayers, {"conv1"}})), "begins stage 0"));
}

TEST_CASE("plan.json and the table show stages and what crosses") {
  const Graph graph = model("small-residual.toml");
  const Plan plan = plan_of(graph, config(3, {SplitRule::FirstLayers, {"layer1.relu1", "fc"}}));
  const nlohmann::json json = plan_json(graph, plan);
  CHECK(json["stages"].size() == 3);
  CHECK(json["stages"][0]["layers"] == nlohmann::json({"conv1", "layer1.bn1"}));
  CHECK(json["stages"][0]["sends"].dump() ==
        R"([{"shape":[8,7,7],"value":"pool1"},{"shape":[8,7,7],"value":"layer1.bn1"}])");
  CHECK(json["stages"][2]["sends"].empty());
  CHECK(json["parameters"] == graph.parameter_count());

  const std::string text = plan_text(graph, plan);
  INFO(text);
  CHECK(contains(text, "pool1 [8, 7, 7], layer1.bn1 [8, 7, 7]"));
  CHECK(contains(text, "layer1.relu1 .. dropout (7 layers)"));
  CHECK(contains(text, "conv1 pool1 layer1.conv1 layer1.bn1"));
}
