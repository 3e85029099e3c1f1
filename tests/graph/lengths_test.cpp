// A model of two sides at other lengths: the same layers and parameters over shorter sequences.
#include "graph/lengths.hpp"

#include "base/check.hpp"
#include "base/error.hpp"
#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"

using namespace pipetrain;

namespace {

const char* const two_sided = R"(
name = "two-sided"
input = { source = 16, target = 24, vocabulary = 7 }
layers = [
  { name = "read", kind = "embedding", embedding_dim = 4, inputs = ["source"] },
  { name = "places", kind = "learned_positions" },
  { name = "keys", kind = "linear", out_features = 8 },
  { name = "write", kind = "embedding", embedding_dim = 4, inputs = ["target"] },
  { name = "cross", kind = "attention", heads = 2, padding = 0, inputs = ["write", "keys", "source"] },
  { name = "head", kind = "linear", out_features = 7 },
]
)";

const Layer& layer_at(const Graph& graph, std::size_t index) { return graph.layers.at(index); }

}  // namespace

TEST_CASE("lengths: shapes follow, parameters stay", "[lengths]") {
  const Graph whole = read_model_text(two_sided, "test");
  CHECK(lengths_of(whole) == Lengths{16, 24});
  const Graph shorter = with_lengths(whole, {8, 16});
  CHECK(lengths_of(shorter) == Lengths{8, 16});
  CHECK(shorter.input == Shape{{24}, 7});
  CHECK(layer_at(shorter, 0).output == Shape{{8}, 7});
  CHECK(layer_at(shorter, 1).output == Shape{{16}, 7});
  CHECK(layer_at(shorter, 1).spec == LayerSpec{Narrow{8, 16}});
  CHECK(layer_at(shorter, 4).output == Shape{{8, 8}});
  CHECK(layer_at(shorter, 6).output == Shape{{16, 4}});
  CHECK(layer_at(shorter, 7).output == Shape{{16, 7}});
  REQUIRE(shorter.layers.size() == whole.layers.size());
  for (std::size_t l = 0; l < whole.layers.size(); ++l) {
    CHECK(layer_at(shorter, l).parameters == layer_at(whole, l).parameters);
    CHECK(layer_at(shorter, l).inputs == layer_at(whole, l).inputs);
    CHECK(layer_at(shorter, l).flops <= layer_at(whole, l).flops);
  }
  CHECK(layer_at(shorter, 4).flops * 2 == layer_at(whole, 4).flops);
  CHECK(layer_at(shorter, 3).parameters[0].shape == Shape{{16, 4}});  // rows to spare
}

TEST_CASE("lengths: the model's own, and those of a model of one side", "[lengths]") {
  const Graph whole = read_model_text(two_sided, "test");
  CHECK(with_lengths(whole, {}).layers == whole.layers);
  CHECK(with_lengths(whole, {16, 24}).layers == whole.layers);
  const Graph one = read_model_text(
      "name = \"one\"\ninput = { shape = [4] }\nlayers = [ { name = \"fc\", kind = \"linear\", "
      "out_features = 2 } ]",
      "test");
  CHECK(lengths_of(one) == Lengths{});
  CHECK(with_lengths(one, {}).layers == one.layers);
}

TEST_CASE("lengths: longer than the model's are our own mistake", "[lengths]") {
  const Graph whole = read_model_text(two_sided, "test");
  CHECK_THROWS_AS(with_lengths(whole, {24, 24}), InternalError);
  CHECK_THROWS_AS(with_lengths(whole, {8, 0}), InternalError);
}

TEST_CASE("lengths: a layer that reads a fixed part of a side is named", "[lengths]") {
  const std::string text = std::string(two_sided);
  const auto at = text.find("  { name = \"read\"");
  const std::string part =
      "  { name = \"part\", kind = \"narrow\", start = 4, length = 12, inputs = [\"source\"] },\n";
  std::string behind =
      "  { name = \"read\", kind = \"embedding\", embedding_dim = 4, inputs = "
      "[\"part\"] },\n" +
      text.substr(text.find("  { name = \"places\""));
  behind.replace(behind.find("\"keys\", \"source\""), 16, "\"keys\", \"part\"");
  const Graph graph = read_model_text(text.substr(0, at) + part + behind, "test");
  CHECK(with_lengths(graph, {16, 8}).layers.size() == graph.layers.size());
  try {
    with_lengths(graph, {8, 8});
    FAIL("taken");
  } catch (const UsageError& error) {
    const std::string what = error.what();
    CHECK(what.find("narrow 'part' cannot read sentences of 8 and 8 tokens") != what.npos);
  }
}
