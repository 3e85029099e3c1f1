// Layers that use another layer's weight.
#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

namespace {

const std::string token_table =
    "input = { tokens = 8, vocabulary = 11 }\n[[layers]]\nname = \"wte\"\n"
    "kind = \"embedding\"\nembedding_dim = 6\n";

std::string layer_text(const std::string& name, const std::string& keys) {
  return "[[layers]]\nname = \"" + name + "\"\n" + keys + "\n";
}

Graph read(const std::string& layers) { return read_model_text(token_table + layers, "m.toml"); }

std::string tied_error(const std::string& layers) {
  try {
    read(layers);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("a tied weight is the owner's, and counts once") {
  const Graph graph =
      read(layer_text("head", "kind = 'linear'\nout_features = 11\nbias = false\ntied = 'wte'"));
  const Parameter& weight = graph.layers[1].parameters[0];
  CHECK(weight.name == "head.weight");
  CHECK(weight.tied == Tie{{0}, 0});
  CHECK(weight.initial == graph.layers[0].parameters[0].initial);
  CHECK(graph.owner(weight).name == "wte.weight");
  CHECK(graph.parameter_count() == 11 * 6);
  CHECK(tied_groups(graph) == std::vector<std::vector<Tie>>{{{{0}, 0}, {{1}, 0}}});
}

TEST_CASE("a layer tied to a tied layer is tied to the owner") {
  const Graph graph = read(layer_text("a", "kind = 'linear'\nout_features = 6\nbias = false") +
                           layer_text("b", "kind = 'linear'\nout_features = 6\ntied = 'a'") +
                           layer_text("c", "kind = 'linear'\nout_features = 6\ntied = 'b'") +
                           layer_text("d", "kind = 'linear'\nout_features = 11\ntied = 'wte'"));
  CHECK(graph.layers[3].parameters[0].tied == Tie{{1}, 0});
  CHECK_FALSE(graph.layers[3].parameters[1].tied);  // its bias is its own
  CHECK(tied_groups(graph) ==
        std::vector<std::vector<Tie>>{{{{1}, 0}, {{2}, 0}, {{3}, 0}}, {{{0}, 0}, {{4}, 0}}});
  CHECK(graph.parameter_count() == 11 * 6 + 36 + 6 + 6 + 11);
}

TEST_CASE("a layer in a block is found by its name there, and by its full name") {
  const Graph graph = read_model_text(
      "input = { shape = [6] }\nloss = 'mse'\n"
      "[blocks.two]\nlayers = [\n"
      "  { name = 'a', kind = 'linear', out_features = 6 },\n"
      "  { name = 'b', kind = 'linear', out_features = 6, tied = 'a' },\n]\n"
      "[[layers]]\nname = 'x'\nblock = 'two'\n[[layers]]\nname = 'y'\nblock = 'two'\n"
      "[[layers]]\nname = 'last'\nkind = 'linear'\nout_features = 6\ntied = 'x.b'\n",
      "m.toml");
  CHECK(graph.layers[1].parameters[0].tied == Tie{{0}, 0});
  CHECK(graph.layers[3].parameters[0].tied == Tie{{2}, 0});
  CHECK(graph.layers[4].parameters[0].tied == Tie{{0}, 0});
}

TEST_CASE("a layer that cannot be tied is reported, with its place") {
  const auto says = [](const std::string& layers, const std::string& what) {
    const std::string error = tied_error(layers);
    INFO(error);
    CHECK(error.find(what) != std::string::npos);
  };
  says(layer_text("head", "kind = 'linear'\nout_features = 11\ntied = 'wtf'"),
       "m.toml:10:8: linear 'head' is tied to 'wtf', but no layer above it has that name; did you "
       "mean 'wte'?");
  says(layer_text("head", "kind = 'linear'\nout_features = 11\ntied = 'head'"),
       "but no layer above it has that name");
  says(layer_text("head", "kind = 'linear'\nout_features = 10\ntied = 'wte'"),
       "is tied to 'wte', which has a weight of [11, 6]; its own weight is [10, 6]: write "
       "out_features = 11, or name a linear or embedding layer whose weight has that shape");
  says(layer_text("a", "kind = 'linear'\nout_features = 5") +
           layer_text("head", "kind = 'linear'\nout_features = 11\ntied = 'wte'"),
       "its own weight is [11, 5]: name a linear or embedding layer");  // no key of it is wrong
  says(layer_text("r", "kind = 'relu'") +
           layer_text("head", "kind = 'linear'\nout_features = 6\ntied = 'r'"),
       "is tied to 'r', which is a relu layer; its own weight is [6, 6]");
  says(
      layer_text("more", "kind = 'embedding'\ninputs = ['input']\nembedding_dim = 7\ntied = 'wte'"),
      "its own weight is [11, 7]: write embedding_dim = 6, or name a linear");
  says(layer_text("r", "kind = 'relu'\ntied = 'wte'"), "relu 'r' has no key 'tied'");
  says(layer_text("head", "kind = 'linear'\nout_features = 11\ntied = 3"),
       "tied is 3; write a name");
}
