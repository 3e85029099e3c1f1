// Blocks written out: names as torchvision's, parameters, overrides, nesting.
#include "base/check.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

namespace {

// "h.0.act(1) join(2 6) ": each layer and the values that it reads.
std::string names_and_inputs(const Graph& graph) {
  std::string text;
  for (const Layer& layer : graph.layers) {
    std::vector<int> inputs;
    for (const ValueId input : layer.inputs) inputs.push_back(input.value);
    text += fmt::format("{}({}) ", layer.name, fmt::join(inputs, " "));
  }
  return text;
}

}  // namespace

TEST_CASE("a ResNet stage has torchvision's names") {
  const Graph graph = read_model_text(R"(
input = { shape = [3, 16, 16] }
[blocks.basic]
defaults = { stride = 1 }
layers = [
  { name = "conv1", kind = "conv2d", out_channels = "$channels", kernel = 3, stride = "$stride", padding = 1, bias = false },
  { name = "conv2", kind = "conv2d", out_channels = "$channels", kernel = 3, padding = 1, bias = false },
  { name = "add", kind = "add", inputs = ["conv2", "input"] },
]
[blocks.down]
layers = [
  { name = "conv1", kind = "conv2d", out_channels = "$channels", kernel = 3, stride = 2, padding = 1, bias = false },
  { name = "downsample.0", kind = "conv2d", out_channels = "$channels", kernel = 1, stride = 2, bias = false, inputs = ["input"] },
  { name = "downsample.1", kind = "batch_norm" },
  { name = "add", kind = "add", inputs = ["conv1", "downsample.1"] },
]
[[layers]]
name = "layer1"
block = "basic"
repeat = 2
with = { channels = 3 }
[[layers]]
name = "layer2.0"
block = "down"
with = { channels = 6 }
[[layers]]
name = "layer2"
block = "basic"
repeat = 2
first_index = 1
with = { channels = 6 }
[[layers]]
name = "pool"
kind = "global_avg_pool"
[[layers]]
name = "flatten"
kind = "flatten"
)",
                                      "resnet.toml");
  CHECK(names_and_inputs(graph) ==
        "layer1.0.conv1(0) layer1.0.conv2(1) layer1.0.add(2 0) "
        "layer1.1.conv1(3) layer1.1.conv2(4) layer1.1.add(5 3) "
        "layer2.0.conv1(6) layer2.0.downsample.0(6) layer2.0.downsample.1(8) layer2.0.add(7 9) "
        "layer2.1.conv1(10) layer2.1.conv2(11) layer2.1.add(12 10) "
        "layer2.2.conv1(13) layer2.2.conv2(14) layer2.2.add(15 13) "
        "pool(16) flatten(17) ");
  CHECK(graph.layers[7].parameters[0].name == "layer2.0.downsample.0.weight");
  CHECK(graph.layers[9].output.text() == "[6, 8, 8]");
}

TEST_CASE("the first copy may differ, and blocks nest with parameters passed on") {
  const Graph graph = read_model_text(R"(
input = { shape = [2, 16, 16] }
loss = "mse"
[blocks.conv]
layers = [ { name = "c", kind = "conv2d", out_channels = "$n", kernel = 1, stride = "$s" } ]
[blocks.two]
layers = [
  { name = "conv", block = "conv", with = { n = "$width", s = "$stride" } },
  { name = "act", kind = "relu" },
]
[[layers]]
name = "h"
block = "two"
repeat = 3
with = { width = 4, stride = 1 }
first = { stride = 2 }
[[layers]]
name = "join"
kind = "add"
inputs = ["h.0", "h"]
)",
                                      "nested.toml");
  CHECK(names_and_inputs(graph) ==
        "h.0.conv.c(0) h.0.act(1) h.1.conv.c(2) h.1.act(3) h.2.conv.c(4) h.2.act(5) join(2 6) ");
  CHECK(graph.layers[1].output.text() == "[4, 8, 8]");
  CHECK(graph.layers[5].output.text() == "[4, 8, 8]");
}
