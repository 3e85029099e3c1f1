// The models of translation that come with the source: their sizes, fairseq's names, and which
// layers read which across the two sides.
#include <algorithm>
#include <cstdlib>
#include <set>
#include <tuple>

#include "catch.hpp"
#include "graph/graph.hpp"
#include "graph/read.hpp"
#include "graphs.hpp"
#include "places.hpp"

using namespace pipetrain;
using namespace pipetrain::testing;

namespace {

std::vector<std::string> inputs(const Graph& graph, const std::string& name) {
  std::vector<std::string> names;
  for (const ValueId value : layer(graph, name).inputs)
    names.push_back(graph.layers[static_cast<std::size_t>(value.value - 1)].name);
  return names;
}

struct Sizes {
  int layers;
  std::int64_t width, inner, vocabulary;
  bool norm_last;  // after each stack
};

std::set<std::string> fairseq(const Sizes& sizes) {
  std::set<std::string> names;
  const auto add = [&](const std::string& name, const std::vector<std::int64_t>& dims) {
    names.insert(name + ' ' + Shape{dims}.text());
  };
  const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  const auto norm = [&](const std::string& name) {
    for (const char* which : {".weight", ".bias"}) add(name + which, {sizes.width});
  };
  add("encoder.embed_tokens.weight", {sizes.vocabulary, sizes.width});
  for (const std::string side : {"encoder", "decoder"}) {
    for (int i = 0; i < sizes.layers; ++i) {
      const std::string at = side + ".layers." + std::to_string(i) + '.';
      linear(at + "self_attn.in_proj", sizes.width, 3 * sizes.width);
      linear(at + "self_attn.out_proj", sizes.width, sizes.width);
      norm(at + "self_attn_layer_norm");
      linear(at + "fc1", sizes.width, sizes.inner);
      linear(at + "fc2", sizes.inner, sizes.width);
      norm(at + "final_layer_norm");
      if (side == "encoder") continue;
      linear(at + "encoder_attn.q_proj", sizes.width, sizes.width);
      linear(at + "encoder_attn.kv_proj", sizes.width, 2 * sizes.width);
      linear(at + "encoder_attn.out_proj", sizes.width, sizes.width);
      norm(at + "encoder_attn_layer_norm");
    }
    if (sizes.norm_last) norm(side + ".layer_norm");
  }
  return names;
}

void check_transformer(const Graph& graph, const Sizes& sizes, const std::string& memory) {
  std::set<std::string> own;
  for (const Layer& layer : graph.layers)
    for (const Parameter& parameter : layer.parameters)
      if (!parameter.tied) own.insert(parameter.name + ' ' + parameter.shape.text());
  CHECK(own == fairseq(sizes));
  CHECK(graph.label_smoothing == 0.1);
  REQUIRE(tied_groups(graph).size() == 1);
  CHECK(tied_groups(graph)[0].size() == 3);

  for (const std::string stack : {"encoder", "decoder"}) {
    const auto& embedding = std::get<Embedding>(layer(graph, stack + ".embed_tokens").spec);
    CHECK(embedding.scale * embedding.scale == Approx(static_cast<double>(sizes.width)));
  }
  CHECK(inputs(graph, "encoder.embed_tokens") == std::vector<std::string>{"source"});
  CHECK(inputs(graph, "decoder.embed_tokens") == std::vector<std::string>{"target"});
  for (int i = 0; i < sizes.layers; ++i) {
    const std::string at = "layers." + std::to_string(i) + '.', encoder = "encoder." + at,
                      decoder = "decoder." + at;
    CHECK(inputs(graph, encoder + "self_attn.heads") ==
          std::vector{encoder + "self_attn.in_proj", std::string("source")});
    CHECK(inputs(graph, decoder + "encoder_attn.heads") ==
          std::vector{decoder + "encoder_attn.q_proj", decoder + "encoder_attn.kv_proj",
                      std::string("source")});
    CHECK(inputs(graph, decoder + "encoder_attn.kv_proj") == std::vector{memory});
    const auto attention = [&](const std::string& name) {
      return std::get<Attention>(layer(graph, name).spec);
    };
    CHECK(attention(encoder + "self_attn.heads").padding == 0);
    CHECK(!attention(encoder + "self_attn.heads").causal);
    CHECK(attention(decoder + "self_attn.heads").causal);
    CHECK(attention(decoder + "encoder_attn.heads").padding == 0);
  }
}

}  // namespace

TEST_CASE("transformer-mini") {
  const Graph graph = shipped("transformer-mini");
  check_transformer(graph, {3, 256, 1024, 6000, true}, "encoder.layer_norm");
  CHECK(graph.parameter_count() == 7066624);
  CHECK(graph.target_tokens == 64);
  CHECK(graph.layers.back().output.text() == "[64, 6000]");
}

TEST_CASE("transformer-base") {
  const Graph graph = shipped("transformer-base");
  check_transformer(graph, {6, 512, 2048, 37000, false}, "encoder.layers.5.final_layer_norm");
  CHECK(graph.parameter_count() == 63082496);
  CHECK(graph.target_tokens == 256);
  CHECK(graph.layers.back().output.text() == "[256, 37000]");
}

TEST_CASE("transformer-iwslt") {
  const Graph graph = shipped("transformer-iwslt");
  check_transformer(graph, {6, 512, 1024, 10000, false}, "encoder.layers.5.final_layer_norm");
  CHECK(graph.parameter_count() == 36663296);
}

TEST_CASE("gnmt: the context goes to every layer of the decoder but the first") {
  for (const auto& [name, layers, parameters] :
       {std::tuple{"gnmt-mini", 3, 6138369}, {"gnmt8", 8, 243967233}}) {
    INFO(name);
    const Graph graph = shipped(name);
    CHECK(graph.parameter_count() == parameters);
    const std::string last = "encoder.rnn_layers." + std::to_string(layers - 3) + ".sum";
    CHECK(inputs(graph, "decoder.attn.context") == std::vector<std::string>{"decoder.attn.linear_q",
                                                                            "decoder.attn.linear_k",
                                                                            last, "source"});
    CHECK(inputs(graph, "decoder.attn.linear_q") == std::vector<std::string>{"decoder.att_rnn"});
    CHECK(inputs(graph, "decoder.first_input") ==
          std::vector<std::string>{"decoder.att_rnn", "decoder.attn.context"});
    for (int l = 0; l < layers - 2; ++l) {
      const std::string block = "decoder.rnn_layers." + std::to_string(l);
      CHECK(inputs(graph, block + ".with_context")[1] == "decoder.attn.context");
      CHECK(inputs(graph, block + ".sum")[0] == block + ".rnn");
    }
    const auto lstms = std::ranges::count_if(
        graph.layers, [](const Layer& layer) { return std::holds_alternative<Lstm>(layer.spec); });
    CHECK(lstms == 2 * layers);
  }
}
