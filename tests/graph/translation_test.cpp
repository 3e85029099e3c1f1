// What a model of two sides needs of its target at each layer to translate, and which models cannot
// translate.
#include "graph/translation.hpp"

#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

namespace {

Graph model(const std::string& layers) {
  return read_model_text(
      "input = { source = 6, target = 4, vocabulary = 9 }\nlayers = [" + layers + "]", "model");
}

const std::string encoder =
    R"({ name = "read", kind = "embedding", embedding_dim = 8, inputs = ["source"] },
       { name = "kv", kind = "linear", out_features = 16 },)";
const std::string decoder =
    R"({ name = "write", kind = "embedding", embedding_dim = 8, inputs = ["target"] },
       { name = "heads", kind = "attention", heads = 2, inputs = ["write", "kv"] },)";
const std::string head = R"({ name = "out", kind = "linear", out_features = 9 })";

// The names of the layers that need just that.
std::vector<std::string> layers_of(const Graph& graph, Needs needs) {
  const std::vector<Needs> all = needs_to_translate(graph);
  std::vector<std::string> names;
  for (std::size_t l = side_layers; l < all.size(); ++l)
    if (all[l] == needs) names.push_back(graph.layers[l].name);
  return names;
}

using Names = std::vector<std::string>;

std::string refusal(const Graph& graph) {
  try {
    (void)needs_to_translate(graph);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("layers need the source, a position, or the prefix if they mix positions or count them") {
  const Graph plain = model(encoder + decoder + head);
  CHECK(layers_of(plain, Needs::Source) == Names{"read", "kv"});
  CHECK(layers_of(plain, Needs::Position) == Names{"write", "heads", "out"});
  CHECK(layers_of(plain, Needs::Prefix).empty());
  const Graph mixing =
      model(encoder +
            R"({ name = "write", kind = "embedding", embedding_dim = 8, inputs = ["target"] },
         { name = "at", kind = "sinusoidal_positions" },
         { name = "qkv", kind = "linear", out_features = 24 },
         { name = "own", kind = "attention", heads = 2, causal = true },
         { name = "state", kind = "lstm", hidden_size = 8 },
         { name = "key", kind = "linear", out_features = 8, inputs = ["read"] },
         { name = "context", kind = "additive_attention", inputs = ["state", "key", "kv"] },
         { name = "with", kind = "concat", inputs = ["context", "at"] },
         { name = "padded", kind = "lstm", hidden_size = 8, padding = 0, inputs = ["with", "target"] },)" +
            head);
  CHECK(layers_of(mixing, Needs::Source) == Names{"read", "kv", "key"});
  CHECK(layers_of(mixing, Needs::Position) ==
        Names{"write", "qkv", "state", "context", "with", "out"});
  CHECK(layers_of(mixing, Needs::Prefix) == Names{"at", "own", "padded"});
}

TEST_CASE("a layer that reads the source alone needs no target, wherever it is written") {
  const Graph late = model(
      R"({ name = "write", kind = "embedding", embedding_dim = 8, inputs = ["target"] },)" +
      encoder + R"({ name = "heads", kind = "attention", heads = 2, inputs = ["write", "kv"] },)" +
      head);
  CHECK(layers_of(late, Needs::Source) == Names{"read", "kv"});
}

TEST_CASE("the values made of the target are those after it") {
  const Graph graph = model(encoder + decoder + head);
  // input; source, target; read, kv; write, heads, out
  CHECK(made_of_target(graph) ==
        std::vector<bool>{false, false, true, false, false, true, true, true});
}

TEST_CASE("a model that does not translate is refused with what to change") {
  CHECK(says(refusal(read_model_text("input = { tokens = 4, vocabulary = 9 }\nlayers = [{ name = "
                                     "\"e\", kind = \"embedding\", embedding_dim = 9 }]",
                                     "one side")),
             "two sides"));
  const std::string ahead =
      R"({ name = "qkv", kind = "linear", out_features = 24, inputs = ["heads"] },
         { name = "own", kind = "attention", heads = 2 },)";
  CHECK(says(refusal(model(encoder + decoder + ahead + head)), "'own' reads later tokens"));
  const std::string both =
      R"({ name = "tkv", kind = "linear", out_features = 16, inputs = ["heads"] },
         { name = "cross", kind = "attention", heads = 2, inputs = ["heads", "tkv"] },)";
  CHECK(says(refusal(model(encoder + decoder + both + head)), "'cross' reads later tokens"));
  CHECK(says(
      refusal(model(encoder + decoder + R"({ name = "out", kind = "linear", out_features = 5 })")),
      "each of 9 tokens"));
  const std::string cut =
      R"({ name = "begin", kind = "narrow", length = 2, inputs = ["target"] },
         { name = "begun", kind = "embedding", embedding_dim = 16 },
         { name = "look", kind = "attention", heads = 2, inputs = ["heads", "begun"] },)";
  CHECK(says(refusal(model(encoder + decoder + cut + head)), "'begin' makes [2]"));
  const std::string whole =
      R"({ name = "lead", kind = "narrow", length = 4, inputs = ["input"] },
         { name = "led", kind = "embedding", embedding_dim = 16 },
         { name = "look", kind = "attention", heads = 2, inputs = ["heads", "led"] },)";
  CHECK(says(refusal(model(encoder + decoder + whole + head)), "'lead' reads source and target"));
  const std::string added =
      R"({ name = "sized", kind = "linear", out_features = 8, inputs = ["read"] },
         { name = "sum", kind = "add", inputs = ["sized", "heads"] },)";
  const std::string equal = "input = { source = 4, target = 4, vocabulary = 9 }\nlayers = [";
  CHECK(says(refusal(read_model_text(equal + encoder + decoder + added + head + "]", "equal")),
             "'sum' cannot read sentences of 4 and 1"));
}
