// The vision models that come with the source: their sizes, names and work, against what is known
// about torchvision's.
#include <cmath>
#include <cstdlib>

#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "graphs.hpp"
#include "places.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

// What a sample's forward multiplies and adds in convolutions and linear layers, without biases and
// without the other layers: the convention of the tables in which ResNet-50 has 4.09 G.
std::int64_t multiply_adds(const Graph& graph) {
  std::int64_t sum = 0;
  for (const Layer& l : graph.layers) {
    if (l.parameters.empty() || std::holds_alternative<BatchNorm>(l.spec)) continue;
    const bool bias = l.parameters.size() == 2;
    sum += (l.flops - (bias ? l.output.elements() : 0)) / 2;
  }
  return sum;
}

std::string parameter(const Graph& graph, const std::string& name, std::size_t which = 0) {
  const Parameter& found = layer(graph, name).parameters.at(which);
  return found.name + ' ' + found.shape.text();
}

}  // namespace

TEST_CASE("the ImageNet models have torchvision's numbers of parameters and multiply-adds") {
  struct Known {
    const char* name;
    std::int64_t parameters, multiply_adds;
  };
  const Known known =
      GENERATE(Known{"alexnet", 61100840, 714188480}, Known{"vgg16", 138357544, 15470264320},
               Known{"resnet18", 11689512, 1814073344}, Known{"resnet50", 25557032, 4089184256});
  INFO(known.name);
  const Graph graph = shipped(known.name);
  CHECK(graph.parameter_count() == known.parameters);
  CHECK(multiply_adds(graph) == known.multiply_adds);
  CHECK(graph.input.text() == "[3, 224, 224]");
  CHECK(graph.layers.back().output.text() == "[1000]");
}

TEST_CASE("the models for 32x32 images have as many parameters as the benchmark's") {
  struct Known {
    const char* name;
    std::int64_t parameters;
  };
  const Known known = GENERATE(Known{"vgg16-32", 14728266}, Known{"resnet18-32", 11173962},
                               Known{"resnet50-32", 23520842});
  INFO(known.name);
  const Graph graph = shipped(known.name);
  CHECK(graph.name == known.name);
  CHECK(graph.parameter_count() == known.parameters);
  CHECK(graph.input.text() == "[3, 32, 32]");
  CHECK(graph.layers.back().output.text() == "[10]");
}

TEST_CASE("parameters have torchvision's names and shapes") {
  const Graph alexnet = shipped("alexnet"), vgg16 = shipped("vgg16");
  CHECK(parameter(alexnet, "features.0") == "features.0.weight [64, 3, 11, 11]");
  CHECK(parameter(alexnet, "features.10", 1) == "features.10.bias [256]");
  CHECK(parameter(alexnet, "classifier.1") == "classifier.1.weight [4096, 9216]");
  CHECK(parameter(vgg16, "features.28") == "features.28.weight [512, 512, 3, 3]");
  CHECK(parameter(vgg16, "classifier.0") == "classifier.0.weight [4096, 25088]");
  CHECK(parameter(vgg16, "classifier.6", 1) == "classifier.6.bias [1000]");

  const Graph resnet18 = shipped("resnet18"), resnet50 = shipped("resnet50");
  CHECK(parameter(resnet18, "conv1") == "conv1.weight [64, 3, 7, 7]");
  CHECK(parameter(resnet18, "layer2.0.downsample.0") ==
        "layer2.0.downsample.0.weight [128, 64, 1, 1]");
  CHECK(layer(resnet18, "layer4.1.bn2").buffers[0].name == "layer4.1.bn2.running_mean");
  CHECK(parameter(resnet50, "layer1.0.downsample.0") ==
        "layer1.0.downsample.0.weight [256, 64, 1, 1]");
  CHECK(parameter(resnet50, "layer3.5.conv2") == "layer3.5.conv2.weight [256, 256, 3, 3]");
  CHECK(parameter(resnet50, "fc") == "fc.weight [1000, 2048]");
  CHECK(layer(resnet50, "layer4.0.conv1").output.text() == "[512, 14, 14]");
  CHECK(layer(resnet50, "layer4.0.conv2").output.text() == "[512, 7, 7]");
}

TEST_CASE("VGG-16, which has no norms, starts from weights that keep the size of what passes") {
  const Graph vgg16 = shipped("vgg16");
  for (const Layer& l : vgg16.layers) {
    if (l.parameters.empty()) continue;
    const bool conv = std::holds_alternative<Conv2d>(l.spec);
    const auto out = static_cast<double>(l.output.dims[0]);
    INFO(l.name);
    CHECK(std::get<Normal>(l.parameters[0].initial).std ==
          Approx(conv ? std::sqrt(2 / (9 * out)) : 0.01).epsilon(0.002));
    CHECK(std::get<Constant>(l.parameters[1].initial).value == 0);
  }
}
