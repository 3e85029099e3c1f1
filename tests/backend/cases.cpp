#include "cases.hpp"
#include "graph/graph.hpp"

namespace pipetrain::testing {
namespace {

using Dims = std::vector<std::int64_t>;

Case one(std::string name, Dims input, LayerSpec spec, Dims output, int samples,
         Mode mode = Mode::Train) {
  return {std::move(name),
          make_graph(std::move(input), {{"layer", std::move(spec), std::move(output)}}), samples,
          mode};
}

void linear_cases(std::vector<Case>& cases) {
  cases.push_back(one("linear", {5}, Linear{.out_features = 7}, {7}, 3));
  cases.push_back(one("linear 1 to 1", {1}, Linear{.out_features = 1}, {1}, 1));
  cases.push_back(
      one("linear without bias", {64}, Linear{.out_features = 10, .bias = false}, {10}, 8));
  cases.push_back(one("linear odd sizes", {17}, Linear{.out_features = 33}, {33}, 5));
  cases.push_back(
      one("linear evaluated", {17}, Linear{.out_features = 33}, {33}, 5, Mode::Evaluate));
}

void conv_cases(std::vector<Case>& cases) {
  cases.push_back(one("conv 3x3 padded", {3, 8, 8},
                      Conv2d{.out_channels = 4, .kernel = {3, 3}, .padding = {1, 1}}, {4, 8, 8},
                      2));
  cases.push_back(one("conv one sample", {1, 14, 14},
                      Conv2d{.out_channels = 6, .kernel = {5, 5}, .padding = {2, 2}}, {6, 14, 14},
                      1));
  cases.push_back(
      one("conv 5x5", {6, 14, 14}, Conv2d{.out_channels = 16, .kernel = {5, 5}}, {16, 10, 10}, 2));
  cases.push_back(
      one("conv stride 2", {4, 9, 7},
          Conv2d{.out_channels = 8, .kernel = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
          {8, 5, 4}, 3));
  cases.push_back(one("conv 2 groups", {4, 6, 6},
                      Conv2d{.out_channels = 6, .kernel = {3, 3}, .groups = 2}, {6, 4, 4}, 2));
  cases.push_back(one("conv depthwise", {5, 6, 6},
                      Conv2d{.out_channels = 5, .kernel = {3, 3}, .padding = {1, 1}, .groups = 5},
                      {5, 6, 6}, 2));
  cases.push_back(one("conv 16-wide groups", {32, 4, 4},
                      Conv2d{.out_channels = 32, .kernel = {3, 3}, .padding = {1, 1}, .groups = 2},
                      {32, 4, 4}, 2));
  cases.push_back(one("conv 8-wide groups", {24, 5, 4},
                      Conv2d{.out_channels = 48, .kernel = {3, 3}, .padding = {1, 1}, .groups = 3},
                      {48, 5, 4}, 2));
  cases.push_back(one("conv 1x1 padded", {17, 3, 3},
                      Conv2d{.out_channels = 5, .kernel = {1, 1}, .padding = {1, 1}}, {5, 5, 5},
                      2));
  cases.push_back(one("conv stride beyond kernel", {3, 7, 7},
                      Conv2d{.out_channels = 5, .kernel = {1, 1}, .stride = {3, 3}}, {5, 3, 3}, 2));
  cases.push_back(
      one("conv oblong", {2, 5, 6},
          Conv2d{.out_channels = 3, .kernel = {3, 1}, .stride = {1, 2}, .padding = {1, 0}},
          {3, 5, 3}, 2));
  cases.push_back(one("conv without bias", {3, 6, 6},
                      Conv2d{.out_channels = 17, .kernel = {3, 3}, .bias = false}, {17, 4, 4}, 2));
  cases.push_back(
      one("conv 1x1", {16, 5, 5}, Conv2d{.out_channels = 32, .kernel = {1, 1}}, {32, 5, 5}, 2));
  cases.push_back(one("conv of 2x2 images", {17, 2, 2},
                      Conv2d{.out_channels = 33, .kernel = {3, 3}, .padding = {1, 1}}, {33, 2, 2},
                      5));
  cases.push_back(
      one("conv to 3x3 images", {20, 6, 5},
          Conv2d{.out_channels = 18, .kernel = {3, 2}, .stride = {2, 2}, .padding = {1, 1}},
          {18, 3, 3}, 3));
  cases.push_back(one("conv evaluated", {3, 6, 6}, Conv2d{.out_channels = 8, .kernel = {3, 3}},
                      {8, 4, 4}, 3, Mode::Evaluate));
}

void norm_cases(std::vector<Case>& cases) {
  cases.push_back(one("batch_norm of images", {4, 5, 5}, BatchNorm{}, {4, 5, 5}, 3));
  cases.push_back(one("batch_norm of vectors", {7}, BatchNorm{}, {7}, 5));
  cases.push_back(one("batch_norm one sample", {3, 4, 4}, BatchNorm{}, {3, 4, 4}, 1));
  cases.push_back(one("batch_norm own eps and momentum", {16, 3, 3},
                      BatchNorm{.eps = 1e-3, .momentum = 0.5}, {16, 3, 3}, 2));
  cases.push_back(
      one("batch_norm evaluated", {4, 5, 5}, BatchNorm{}, {4, 5, 5}, 3, Mode::Evaluate));
  cases.push_back(one("batch_norm of vectors evaluated", {7}, BatchNorm{}, {7}, 1, Mode::Evaluate));
}

void pool_cases(std::vector<Case>& cases) {
  const auto both = [&](const std::string& name, Dims input, Pair kernel, Pair stride, Pair padding,
                        Dims output, int samples) {
    cases.push_back(
        one("max_pool " + name, input, MaxPool{kernel, stride, padding}, output, samples));
    cases.push_back(
        one("avg_pool " + name, input, AvgPool{kernel, stride, padding}, output, samples));
  };
  both("2x2", {6, 8, 8}, {2, 2}, {2, 2}, {0, 0}, {6, 4, 4}, 2);
  both("ragged edge", {3, 7, 7}, {2, 2}, {2, 2}, {0, 0}, {3, 3, 3}, 1);
  both("padded", {3, 7, 7}, {3, 3}, {2, 2}, {1, 1}, {3, 4, 4}, 2);
  both("overlapping", {2, 6, 6}, {3, 3}, {1, 1}, {0, 0}, {2, 4, 4}, 2);
  both("stride beyond kernel", {2, 8, 8}, {2, 2}, {3, 3}, {0, 0}, {2, 3, 3}, 2);
  both("oblong", {16, 5, 6}, {3, 2}, {1, 2}, {1, 0}, {16, 5, 3}, 1);
  cases.push_back(one("max_pool evaluated", {3, 7, 7}, MaxPool{{3, 3}, {2, 2}, {1, 1}}, {3, 4, 4},
                      2, Mode::Evaluate));
  cases.push_back(one("global_avg_pool", {5, 4, 6}, GlobalAvgPool{}, {5, 1, 1}, 3));
}

void elementwise_cases(std::vector<Case>& cases) {
  cases.push_back(one("relu of images", {4, 5, 5}, Relu{}, {4, 5, 5}, 3));
  cases.push_back(one("relu of vectors", {9}, Relu{}, {9}, 2));
  cases.push_back(one("flatten", {3, 4, 5}, Flatten{}, {60}, 2));
  cases.push_back(one("identity", {3, 4, 5}, Identity{}, {3, 4, 5}, 2));
  cases.push_back(one("dropout of images", {4, 6, 6}, Dropout{.p = 0.3}, {4, 6, 6}, 2));
  cases.push_back(one("dropout of vectors", {13}, Dropout{.p = 0.5}, {13}, 3));
  cases.push_back(one("dropout of nothing", {13}, Dropout{.p = 0}, {13}, 3));
  cases.push_back(one("dropout evaluated", {13}, Dropout{.p = 0.5}, {13}, 3, Mode::Evaluate));
  cases.push_back(
      {"add",
       make_graph({3, 4, 4}, {{"r", Relu{}, {3, 4, 4}}, {"sum", Add{}, {3, 4, 4}, {"input", "r"}}}),
       2});
  cases.push_back(
      {"add a value to itself", make_graph({5}, {{"sum", Add{}, {5}, {"input", "input"}}}), 2});
}

Conv2d same3x3(std::int64_t channels, bool bias = true) {
  return {.out_channels = channels, .kernel = {3, 3}, .padding = {1, 1}, .bias = bias};
}

std::vector<Case> vision_chain_cases() {
  const MaxPool pool{{2, 2}, {2, 2}};
  const Graph conv_bn_relu = make_graph({3, 6, 6}, {{"conv", same3x3(9, false), {9, 6, 6}},
                                                    {"bn", BatchNorm{}, {9, 6, 6}},
                                                    {"relu", Relu{}, {9, 6, 6}}});
  // The residual block of ResNet: the skip connection bypasses two convolutions.
  const Graph residual = make_graph({3, 6, 6},
                                    {{"stem", same3x3(8), {8, 6, 6}},
                                     {"relu0", Relu{}, {8, 6, 6}},
                                     {"conv1", same3x3(8, false), {8, 6, 6}},
                                     {"bn1", BatchNorm{}, {8, 6, 6}},
                                     {"relu1", Relu{}, {8, 6, 6}},
                                     {"conv2", same3x3(8, false), {8, 6, 6}},
                                     {"bn2", BatchNorm{}, {8, 6, 6}},
                                     {"sum", Add{}, {8, 6, 6}, {"bn2", "relu0"}},
                                     {"relu2", Relu{}, {8, 6, 6}},
                                     {"pool", GlobalAvgPool{}, {8, 1, 1}},
                                     {"flat", Flatten{}, {8}},
                                     {"fc", Linear{.out_features = 4}, {4}}},
                                    Loss::CrossEntropy);
  return {
      {"conv relu pool",
       make_graph({3, 8, 8}, {{"conv", same3x3(6), {6, 8, 8}},
                              {"relu", Relu{}, {6, 8, 8}},
                              {"pool", pool, {6, 4, 4}}}),
       2},
      {"conv batch_norm relu", conv_bn_relu, 3},
      {"conv batch_norm relu evaluated", conv_bn_relu, 3, Mode::Evaluate},
      {"linear relu linear",
       make_graph({12}, {{"fc1", Linear{.out_features = 20}, {20}},
                         {"relu", Relu{}, {20}},
                         {"fc2", Linear{.out_features = 5}, {5}}}),
       4},
      {"linear batch_norm relu",
       make_graph({12}, {{"fc", Linear{.out_features = 20, .bias = false}, {20}},
                         {"bn", BatchNorm{}, {20}},
                         {"relu", Relu{}, {20}}}),
       6},
      {"residual block", residual, 3},
      {"residual block evaluated", residual, 3, Mode::Evaluate},
      // relu must not be fused into conv here: the sum reads what relu reads.
      {"conv read before its relu too",
       make_graph({3, 5, 5}, {{"conv", same3x3(7), {7, 5, 5}},
                              {"relu", Relu{}, {7, 5, 5}},
                              {"sum", Add{}, {7, 5, 5}, {"conv", "relu"}}}),
       2},
      {"add of three",
       make_graph({6}, {{"a", Linear{.out_features = 6}, {6}},
                        {"b", Linear{.out_features = 6}, {6}, {"input"}},
                        {"sum", Add{}, {6}, {"a", "input", "b"}}}),
       2},
      {"relu of a value that others read",
       make_graph({4, 5, 5}, {{"relu", Relu{}, {4, 5, 5}},
                              {"left", same3x3(4), {4, 5, 5}, {"relu"}},
                              {"right", same3x3(4), {4, 5, 5}, {"relu"}},
                              {"sum", Add{}, {4, 5, 5}, {"left", "right"}}}),
       2},
      {"flatten after conv",
       make_graph({2, 5, 5}, {{"conv", Conv2d{.out_channels = 5, .kernel = {2, 2}}, {5, 4, 4}},
                              {"flat", Flatten{}, {80}},
                              {"fc", Linear{.out_features = 3}, {3}}}),
       2},
      {"dropout between",
       make_graph({2, 5, 5}, {{"conv", same3x3(5), {5, 5, 5}},
                              {"relu", Relu{}, {5, 5, 5}},
                              {"drop", Dropout{.p = 0.4}, {5, 5, 5}},
                              {"flat", Flatten{}, {125}},
                              {"fc", Linear{.out_features = 3}, {3}}}),
       2},
      {"avg_pool after conv",
       make_graph({3, 8, 8}, {{"conv", same3x3(20), {20, 8, 8}},
                              {"pool", AvgPool{{2, 2}, {2, 2}}, {20, 4, 4}},
                              {"again", same3x3(5), {5, 4, 4}}}),
       2},
      {"identity between",
       make_graph({3, 5, 5}, {{"conv", same3x3(6), {6, 5, 5}},
                              {"same", Identity{}, {6, 5, 5}},
                              {"relu", Relu{}, {6, 5, 5}}}),
       2},
      {"lenet",
       make_graph(
           {1, 28, 28},
           {{"conv1", Conv2d{.out_channels = 6, .kernel = {5, 5}, .padding = {2, 2}}, {6, 28, 28}},
            {"relu1", Relu{}, {6, 28, 28}},
            {"pool1", pool, {6, 14, 14}},
            {"conv2", Conv2d{.out_channels = 16, .kernel = {5, 5}}, {16, 10, 10}},
            {"relu2", Relu{}, {16, 10, 10}},
            {"pool2", pool, {16, 5, 5}},
            {"flat", Flatten{}, {400}},
            {"fc1", Linear{.out_features = 120}, {120}},
            {"relu3", Relu{}, {120}},
            {"fc2", Linear{.out_features = 84}, {84}},
            {"relu4", Relu{}, {84}},
            {"fc3", Linear{.out_features = 10}, {10}}},
           Loss::CrossEntropy),
       4},
  };
}

}  // namespace

std::vector<Case> layer_cases() {
  std::vector<Case> cases;
  linear_cases(cases);
  conv_cases(cases);
  norm_cases(cases);
  pool_cases(cases);
  elementwise_cases(cases);
  for (Case& c : sequence_layer_cases()) cases.push_back(std::move(c));
  for (Case& c : recurrent_layer_cases()) cases.push_back(std::move(c));
  return cases;
}

std::vector<Case> chain_cases() {
  std::vector<Case> cases = vision_chain_cases();
  for (Case& c : sequence_chain_cases()) cases.push_back(std::move(c));
  for (Case& c : recurrent_chain_cases()) cases.push_back(std::move(c));
  return cases;
}

}  // namespace pipetrain::testing
