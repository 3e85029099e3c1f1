// The language models that come with the source: their sizes and nanoGPT's names.
#include <set>

#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "graphs.hpp"
#include "places.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::set<std::string> parameters(const Graph& graph) {
  std::set<std::string> found;
  for (const Layer& layer : graph.layers)
    for (const Parameter& parameter : layer.parameters)
      if (!parameter.tied) found.insert(parameter.name + ' ' + parameter.shape.text());
  return found;
}

// The parameters of nanoGPT's model with biases, without its output layer.
std::set<std::string> nano_gpt(int blocks, std::int64_t width, std::int64_t length,
                               std::int64_t vocabulary) {
  std::set<std::string> names;
  const auto add = [&](const std::string& name, std::vector<std::int64_t> dims) {
    names.insert(name + ' ' + Shape{std::move(dims)}.text());
  };
  const auto with_bias = [&](const std::string& name, std::vector<std::int64_t> dims) {
    add(name + ".bias", {dims[0]});
    add(name + ".weight", std::move(dims));
  };
  add("transformer.wte.weight", {vocabulary, width});
  add("transformer.wpe.weight", {length, width});
  for (int i = 0; i < blocks; ++i) {
    const std::string block = "transformer.h." + std::to_string(i);
    for (const char* norm : {".ln_1", ".ln_2"}) with_bias(block + norm, {width});
    with_bias(block + ".attn.c_attn", {3 * width, width});
    with_bias(block + ".attn.c_proj", {width, width});
    with_bias(block + ".mlp.c_fc", {4 * width, width});
    with_bias(block + ".mlp.c_proj", {width, 4 * width});
  }
  with_bias("transformer.ln_f", {width});
  return names;
}

}  // namespace

TEST_CASE("gpt-mini has nanoGPT's names and an output layer of its own") {
  const Graph graph = shipped("gpt-mini");
  std::set<std::string> expected = nano_gpt(6, 256, 128, 256);
  expected.insert({"lm_head.weight [256, 256]", "lm_head.bias [256]"});
  CHECK(parameters(graph) == expected);
  CHECK(graph.parameter_count() == 4903168);
  CHECK(graph.input.text() == "[128] tokens of 256");
  CHECK(graph.layers.back().output.text() == "[128, 256]");
}

TEST_CASE(
    "gpt2 has GPT-2's number of parameters, and its output layer uses the embedding's weight") {
  const Graph graph = shipped("gpt2");
  CHECK(parameters(graph) == nano_gpt(12, 768, 1024, 50257));
  CHECK(graph.parameter_count() == 124439808);
  const std::optional<Tie>& tied = graph.layers.back().parameters[0].tied;
  REQUIRE(tied);
  CHECK(graph.parameter(*tied).name == "transformer.wte.weight");
  CHECK(graph.layers.back().output.text() == "[1024, 50257]");
}
