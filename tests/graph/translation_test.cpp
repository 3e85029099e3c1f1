// Where a model of two sides is cut for translating, and which models do not translate.
#include "graph/translation.hpp"

#include "base/error.hpp"
#include "catch.hpp"
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

std::string first_of(const Graph& graph, LayerId layer) {
  return graph.layers[static_cast<std::size_t>(layer.value)].name;
}

std::string refusal(const Graph& graph) {
  try {
    (void)translation_parts(graph);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("the decoder begins where the target is read, the head behind the last mixing layer") {
  const Graph plain = model(encoder + decoder + head);
  const TranslationParts parts = translation_parts(plain);
  CHECK(first_of(plain, parts.decoder) == "write");
  CHECK(first_of(plain, parts.head) == "out");
  const Graph longer =
      model(encoder + decoder +
            R"({ name = "fc", kind = "linear", out_features = 8 }, { name = "relu", kind = "relu" },
         { name = "sum", kind = "add", inputs = ["relu", "write"] },)" +
            head);
  CHECK(first_of(longer, translation_parts(longer).head) == "fc");
}

TEST_CASE("an encoder that is written behind the target's first layer stays with the decoder") {
  const Graph late = model(
      R"({ name = "write", kind = "embedding", embedding_dim = 8, inputs = ["target"] },)" +
      encoder + R"({ name = "heads", kind = "attention", heads = 2, inputs = ["write", "kv"] },)" +
      head);
  const TranslationParts parts = translation_parts(late);
  CHECK(first_of(late, parts.decoder) == "write");
  CHECK(first_of(late, parts.head) == "out");
}

TEST_CASE("values of the target are those behind it") {
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
  CHECK(says(refusal(model(encoder + decoder + ahead + head)), "'own' reads tokens"));
  const std::string both =
      R"({ name = "tkv", kind = "linear", out_features = 16, inputs = ["heads"] },
         { name = "cross", kind = "attention", heads = 2, inputs = ["heads", "tkv"] },)";
  CHECK(says(refusal(model(encoder + decoder + both + head)), "'cross' reads tokens"));
  CHECK(says(
      refusal(model(encoder + decoder + R"({ name = "out", kind = "linear", out_features = 5 })")),
      "each of 9 tokens"));
}
