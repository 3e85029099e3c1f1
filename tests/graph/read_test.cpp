// Whole models: names, shapes, parameters and positions of what a file says.
#include "graph/read.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/kinds.hpp"
#include "graphs.hpp"
#include "places.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::filesystem::path model_path(const char* name) { return source_tree() / "models" / name; }

std::string message_of(const char* file) {
  try {
    read_model(file);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

std::string layer_names(const Graph& graph) {
  std::string names;
  for (const Layer& l : graph.layers) names += l.name + ' ';
  names.pop_back();
  return names;
}

}  // namespace

TEST_CASE("LeNet-5 has its layers, shapes and 61,706 parameters") {
  const Graph graph = read_model(model_path("lenet5.toml"));
  CHECK(graph.name == "lenet5");
  CHECK(graph.loss == Loss::CrossEntropy);
  CHECK(layer_names(graph) ==
        "conv1 relu1 pool1 conv2 relu2 pool2 flatten fc1 relu3 fc2 relu4 fc3");
  CHECK(graph.parameter_count() == 61706);
  CHECK(layer(graph, "conv1").output.text() == "[6, 28, 28]");
  CHECK(layer(graph, "pool2").output.text() == "[16, 5, 5]");
  CHECK(layer(graph, "flatten").output.text() == "[400]");
  CHECK(layer(graph, "fc3").output.text() == "[10]");
  CHECK(layer(graph, "conv2").parameters[0].name == "conv2.weight");
  CHECK(layer(graph, "conv2").parameters[0].shape.text() == "[16, 6, 5, 5]");
  CHECK(layer(graph, "conv2").parameters[1].shape.text() == "[16]");
  CHECK(layer(graph, "fc1").parameters[0].shape.text() == "[120, 400]");
  CHECK(std::get<Uniform>(layer(graph, "fc1").parameters[1].initial).bound == Approx(0.05));
  CHECK(layer(graph, "fc1").flops == 2 * 400 * 120 + 120);
  CHECK(layer(graph, "conv1").flops == 6 * 28 * 28 * (2 * 25 + 1));
}

TEST_CASE("the other models of the repository read") {
  const Graph mlp = read_model(model_path("mlp.toml"));
  CHECK(layer_names(mlp) == "flatten fc1 relu1 fc2 relu2 fc3");
  CHECK(mlp.parameter_count() == 784 * 512 + 512 + 512 * 512 + 512 + 5120 + 10);

  const Graph residual = read_model(model_path("small-residual.toml"));
  CHECK(layer_names(residual) ==
        "conv1 pool1 layer1.conv1 layer1.bn1 layer1.relu1 layer1.conv2 layer1.bn2 layer1.sum "
        "layer1.relu2 flatten dropout fc");
  const Layer sum = layer(residual, "layer1.sum");
  CHECK(sum.inputs == std::vector<ValueId>{{7}, {2}});
  CHECK(residual.consumers(ValueId{2}) == std::vector<LayerId>{{2}, {7}});
  CHECK(residual.shape(ValueId{2}).text() == "[8, 7, 7]");
  const Layer norm = layer(residual, "layer1.bn1");
  CHECK(norm.parameters[0].name == "layer1.bn1.weight");
  CHECK(std::get<Constant>(norm.parameters[0].initial).value == 1);
  CHECK(std::get<Constant>(norm.parameters[1].initial).value == 0);
  CHECK(norm.buffers[0].name == "layer1.bn1.running_mean");
  CHECK(norm.buffers[1].initial == 1);
}

TEST_CASE("every kind of the table reads into its own alternative, under its own name") {
  for (const LayerKind& kind : layer_kinds()) {
    INFO(kind.name);
    std::string text =
        "input = { shape = [4, 8, 8] }\nloss = \"mse\"\n[[layers]]\nname = \"a\"\n"
        "kind = \"identity\"\n[[layers]]\nname = \"f\"\n";
    const bool sequence = kind.name.ends_with("_positions") || kind.name.ends_with("attention") ||
                          kind.name == "lstm";
    if (sequence) text.replace(text.find("[4, 8, 8]"), 9, "[8, 6]");
    if (kind.name == "embedding" || kind.name == "narrow")
      text.replace(text.find("shape = [4, 8, 8]"), 17, "tokens = 4, vocabulary = 9");
    if (kind.name == "linear" || kind.name == "layer_norm")
      text += "kind = \"flatten\"\n[[layers]]\nname = \"g\"\n";
    if (kind.name == "additive_attention")
      text += "kind = \"gelu\"\n[[layers]]\nname = \"g\"\ninputs = [\"a\", \"f\", \"input\"]\n";
    text += "kind = \"" + std::string(kind.name) + "\"\n";
    if (kind.name == "linear") text += "out_features = 3\n";
    if (kind.name == "conv2d") text += "out_channels = 3\n";
    if (kind.name == "embedding") text += "embedding_dim = 3\n";
    if (kind.name == "narrow") text += "length = 3\n";
    if (kind.name == "attention") text += "heads = 2\n";
    if (kind.name == "lstm") text += "hidden_size = 2\n";
    if (kind.name == "add" || kind.name == "concat") text += "inputs = [\"a\", \"input\"]\n";
    if (kind.keys.find("kernel") != std::string_view::npos) text += "kernel = [3, 2]\n";
    CHECK(kind_name(read_model_text(text, "m.toml").layers.back().spec) == kind.name);
  }
}

TEST_CASE("an input of two sides: its parts have names, which blocks can use too") {
  const Graph graph = read_model_text(R"(
input = { source = 3, target = 5, vocabulary = 9 }
loss = "mse"
layers = [
  { name = "encoder", kind = "embedding", embedding_dim = 5, inputs = ["source"] },
  { name = "flat", kind = "flatten" },
  { name = "memory.norm", kind = "layer_norm" },
  { name = "start", kind = "embedding", embedding_dim = 3, inputs = ["target"] },
  { name = "start.flat", kind = "flatten" },
  { name = "decoder", block = "decoder", repeat = 2 },
  { name = "end", kind = "add", inputs = ["decoder", "decoder.0"] },
]
[blocks.decoder]
layers = [
  { name = "norm", kind = "layer_norm" },
  { name = "sum", kind = "add", inputs = ["norm", "memory.norm"] },
]
)",
                                      "m.toml");
  CHECK(graph.input.text() == "[8] tokens of 9");
  CHECK(graph.target_tokens == 5);
  CHECK(graph.layers[0].name == "source");
  CHECK(graph.layers[0].spec == LayerSpec(Narrow{.start = 0, .length = 3}));
  CHECK(graph.layers[1].name == "target");
  CHECK(graph.layers[1].spec == LayerSpec(Narrow{.start = 3, .length = 5}));
  CHECK(graph.layers[1].inputs == std::vector{ValueId{0}});
  CHECK(graph.layers[5].inputs == std::vector{Graph::output_of({1})});
  const ValueId memory = Graph::output_of({4});
  CHECK(graph.layers[4].name == "memory.norm");
  CHECK(graph.layers[8].name == "decoder.0.sum");
  CHECK(graph.layers[8].inputs == std::vector{Graph::output_of({7}), memory});
  CHECK(graph.layers[10].inputs == std::vector{Graph::output_of({9}), memory});
  CHECK(graph.layers[11].inputs == std::vector{Graph::output_of({10}), Graph::output_of({8})});
}

TEST_CASE("attention reads its padding, none by default") {
  const auto read = [](const std::string& keys) {
    const Graph graph = read_model_text(
        "input = { tokens = 4, vocabulary = 9 }\n[[layers]]\nname = \"e\"\nkind = \"embedding\"\n"
        "embedding_dim = 6\n[[layers]]\nname = \"a\"\nkind = \"attention\"\nheads = 2\n" +
            keys,
        "m.toml");
    return std::get<Attention>(graph.layers[1].spec);
  };
  CHECK(read("") == Attention{.heads = 2, .causal = false, .padding = -1});
  CHECK(read("causal = true\npadding = 8\ninputs = [\"e\", \"input\"]") ==
        Attention{.heads = 2, .causal = true, .padding = 8});
}

TEST_CASE("sizes: pairs, defaults, and a pool's stride is its kernel") {
  const Graph graph = read_model_text(R"(
input = { shape = [4, 9, 12] }
loss = "mse"
[[layers]]
name = "conv"
kind = "conv2d"
out_channels = 6
kernel = [3, 5]
stride = [2, 1]
padding = [0, 2]
groups = 2
bias = false
[[layers]]
name = "pool"
kind = "max_pool"
kernel = [2, 3]
[[layers]]
name = "bn"
kind = "batch_norm"
momentum = 1
eps = 1e-3
)",
                                      "folder/pairs.toml");
  CHECK(graph.name == "pairs");
  CHECK(graph.loss == Loss::Mse);
  CHECK(graph.layers[0].output.text() == "[6, 4, 12]");
  CHECK(graph.layers[0].parameters.size() == 1);
  CHECK(graph.layers[0].parameters[0].shape.text() == "[6, 2, 3, 5]");
  CHECK(std::get<MaxPool>(graph.layers[1].spec).stride == Pair{2, 3});
  CHECK(graph.layers[1].output.text() == "[6, 2, 4]");
  CHECK(std::get<BatchNorm>(graph.layers[2].spec).momentum == 1.0);
  CHECK(std::get<BatchNorm>(graph.layers[2].spec).eps == 1e-3);
}

TEST_CASE("a model's labels are smoothed if it says so") {
  const auto read = [](const std::string& key) {
    return read_model_text(
               "input = { shape = [4] }\n" + key + "[[layers]]\nname = \"a\"\nkind = \"relu\"\n",
               "m.toml")
        .label_smoothing;
  };
  CHECK(read("") == 0);
  CHECK(read("label_smoothing = 0.1\n") == 0.1);
}

TEST_CASE("a missing model file is the user's error, by name") {
  CHECK(message_of("no/such.toml").find("model.file = \"no/such.toml\" cannot be read") == 0);
  CHECK(message_of("/").find("it is a folder") != std::string::npos);
}
